"""Records of the laboratory: inspections of a model, predictions of task heads, reports of training runs."""
