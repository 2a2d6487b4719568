"""How experience is gathered: processes that step environments and never import JAX."""
