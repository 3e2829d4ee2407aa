"""Programs as users write them, each under 50 lines; mypy checks them strictly."""
