"""The only room that touches a forward pass: edits of head outputs, observation, replay."""
