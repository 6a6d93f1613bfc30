"""Whether text on a page stands out enough from what is under it, as WCAG reckons it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

LEAST = 4.5
"""Contrast that text of normal size needs (WCAG 2, AA)."""

# Every text with its colour and all backgrounds under it, mixed down to one contrast. What is disabled may be dim.
_CONTRASTS = """([root, least]) => {
  const parse = (color) => {
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((one, at) => one * top[3] + below[at] * (1 - top[3]));
  const light = (color) => {
    const [red, green, blue] = color.map((one) => {
      const part = one / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const page = parse(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  const low = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (node.closest("button:disabled")) continue;
    const layers = [];
    let alpha = 1;
    for (let one = node; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      layers.unshift(parse(style.backgroundColor));
      alpha *= Number(style.opacity);
    }
    const ground = layers.reduce((below, layer) => over(layer, below), page);
    const ink = parse(getComputedStyle(node).color);
    const seen = over([ink[0], ink[1], ink[2], ink[3] * alpha], ground);
    const [high, down] = [light(seen), light(ground)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (down + 0.05);
    if (ratio < least) low.push([walk.currentNode.textContent, node.className, ratio.toFixed(2)]);
  }
  return low;
}"""


def too_dim(page: Page, root: str) -> list[Any]:
    """Return text, class and contrast of what is harder to read than `LEAST` below the element of this expression."""
    found: list[Any] = page.evaluate(f"({_CONTRASTS})([{root}, {LEAST}])")
    return found
