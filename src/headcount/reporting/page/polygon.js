// Whether a point lies inside a polygon: a ray from it crosses the border an odd number of times.
export function polygonContains(corners, [x, y]) {
  let inside = false;
  corners.forEach(([x1, y1], at) => {
    const [x2, y2] = corners[(at + corners.length - 1) % corners.length];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  });
  return inside;
}
