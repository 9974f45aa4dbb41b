"""The governed tools and the gateway, the only door to a chart."""
