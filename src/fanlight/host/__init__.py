"""For people who build hosts: servers, sessions, the store and the web around them."""
