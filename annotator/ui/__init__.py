"""Everything that touches Streamlit inside the package."""
