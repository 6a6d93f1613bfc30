"""Review: pairs people differ on, how far people agree, the calibration set, odd labels, and the record of changes."""

import streamlit as st

from annotator.ui import agreement, audit, blocks, calibration, review, second_look, shell

session = shell.require("settle labels")

with shell.errors():
    blocks.title("Review")
    review.follow()
    views = {
        "Disputes": review.show,
        "Agreement": agreement.show,
        "Calibration": calibration.show,
        "Odd labels": second_look.odd,
        "All labels": second_look.every,
        "Changes": audit.show,
    }
    view = st.segmented_control(
        "View", list(views), default="Disputes", required=True, key="review.view", label_visibility="collapsed"
    )
    views[view](session)
