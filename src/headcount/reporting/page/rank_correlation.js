// Spearman's rank correlation, with mean ranks for ties.
import { mean } from "d3-array";

export function spearman(points) {
  const ranks = (values) => {
    const order = values.map((value, index) => [value, index]).sort((a, b) => a[0] - b[0]);
    const found = new Array(values.length);
    for (let start = 0; start < order.length; ) {
      let stop = start;
      while (stop + 1 < order.length && order[stop + 1][0] === order[start][0]) stop++;
      for (let at = start; at <= stop; at++) found[order[at][1]] = (start + stop) / 2;
      start = stop + 1;
    }
    return found;
  };
  const [a, b] = [ranks(points.map((point) => point.x)), ranks(points.map((point) => point.y))];
  const [ma, mb] = [mean(a), mean(b)];
  let [top, left, right] = [0, 0, 0];
  a.forEach((value, index) => {
    top += (value - ma) * (b[index] - mb);
    left += (value - ma) ** 2;
    right += (b[index] - mb) ** 2;
  });
  return top / Math.sqrt(left * right);
}
