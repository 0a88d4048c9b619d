"""JSON Schemas that others write: values held to them, secrets in them, gaps in them."""
