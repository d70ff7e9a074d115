import { type RefObject, useContext, useEffect, useRef } from 'react';
import type uPlot from 'uplot';
import { colorOf } from '../data/color-theme.ts';
import { ChartViewContext } from './chart-view.ts';

/**
 * Marks the step of {@link ChartViewContext} in a chart.
 *
 * @returns the hook that draws the mark
 */
export function useStepMarker(chart: RefObject<uPlot | null>): (drawn: uPlot) => void {
  const { step: marker, secondsAt } = useContext(ChartViewContext);
  const step = marker === null || secondsAt === null ? marker : secondsAt(marker);
  const marked = useRef(step);
  const draw = useRef((drawn: uPlot): void => drawMark(drawn, marked.current));
  useEffect(() => {
    marked.current = step;
    chart.current?.redraw(false);
  }, [chart, step]);
  return draw.current;
}

function drawMark(chart: uPlot, step: number | null): void {
  const { min = 0, max = 0 } = chart.scales['x'] ?? {};
  if (step === null || step < (min ?? step) || step > (max ?? step)) return;
  const { ctx: context, bbox } = chart;
  const x = Math.round(chart.valToPos(step, 'x', true));
  context.save();
  context.strokeStyle = colorOf('--text');
  context.lineWidth = devicePixelRatio;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x, bbox.top);
  context.lineTo(x, bbox.top + bbox.height);
  context.stroke();
  context.restore();
}
