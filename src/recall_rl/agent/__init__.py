"""What learns: multi-head soft actor-critic as pure functions of one state."""
