"""Tables: what they are made of, queries on their rows, the page of a View, the summary for the model."""
