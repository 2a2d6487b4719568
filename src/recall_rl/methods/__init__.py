"""How forgetting is avoided: a method is a record of five parts, each with a neutral value."""
