"""The schemes as their users and authors see them: listed, shown, checked, begun anew."""
