"""Unit tests that mirror resolver/, resolver/load/, resolver/compile/ and resolver/passthrough/."""
