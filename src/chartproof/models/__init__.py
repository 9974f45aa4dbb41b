"""Models as systems, judges and labels reach them: protocols, prices, spend and egress."""
