// Scales of a plot: the range is set by the plot, the domain has some room around its data.
import { scaleLinear } from "d3-scale";

// The range is set by the plot.
export const linear = (domain) => scaleLinear(domain, [0, 1]);

export const wide = ([low, high], share = 0.05) => {
  const room = (high - low || 1) * share;
  return [low - room, high + room];
};
