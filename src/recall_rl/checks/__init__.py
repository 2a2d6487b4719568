"""What is wrong with an environment or a method of one's own, found before hours of training are."""
