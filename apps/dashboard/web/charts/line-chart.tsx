import { type ReactNode, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colorOf, useIsDark } from '../data/color-theme.ts';
import { numberText } from '../data/format.ts';
import { useStepMarker } from './step-marker.ts';

/** A line of a chart. */
export interface ChartLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Colour variable of the style sheet. */
  readonly color: string;
  /** Whether only points are drawn, connected by thin dashes: values of a few steps. */
  readonly isSparse?: boolean;
  /** Whether it is a threshold: dashed, and without effect on the range of the axis. */
  readonly isLimit?: boolean;
  /** Values of the legend, where they differ from those that are drawn. @default values */
  readonly legendValues?: readonly (number | null)[];
  /** Lower and upper bounds, drawn as a band. */
  readonly band?: { readonly low: readonly (number | null)[]; readonly high: readonly (number | null)[] };
}

/** Properties of {@link LineChart}. */
export interface LineChartProps {
  readonly title: string;
  /** Ascending. */
  readonly steps: readonly number[];
  readonly lines: readonly ChartLine[];
  /** @default 200 */
  readonly height?: number;
  /** Whether the values at the cursor are shown below. @default true */
  readonly hasLegend?: boolean;
}

/** Lines over training steps. Charts of a page share the cursor. */
export function LineChart({ title, steps, lines, height = 200, hasLegend = true }: LineChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<uPlot | null>(null);
  const drawMarker = useStepMarker(shown);
  const isDark = useIsDark();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    // The colours of a canvas do not follow the theme.
    element.dataset['dark'] = String(isDark);
    const chart = new uPlot(
      { ...chartOptions(lines, { width: element.clientWidth, height, hasLegend }), hooks: { draw: [drawMarker] } },
      chartData(steps, lines),
      element,
    );
    shown.current = chart;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      shown.current = null;
    };
  }, [steps, lines, height, hasLegend, isDark, drawMarker]);
  return (
    <figure className="chart" aria-label={`${title}. ${lines.map(lineSummary).join('; ')}`}>
      <div ref={place} aria-hidden="true" />
    </figure>
  );
}

function lineSummary({ label, legendValues, values: drawn }: ChartLine): string {
  const values = legendValues ?? drawn;
  const known = values.filter((value) => value !== null);
  return `${label}: first ${numberText(known[0])}, last ${numberText(known.at(-1))}`;
}

function chartData(steps: readonly number[], lines: readonly ChartLine[]): uPlot.AlignedData {
  const columns = lines.flatMap(({ values, band }) =>
    band === undefined ? [[...values]] : [[...values], [...band.low], [...band.high]],
  );
  return [[...steps], ...columns];
}

function chartOptions(
  lines: readonly ChartLine[],
  { hasLegend, ...size }: { readonly width: number; readonly height: number; readonly hasLegend: boolean },
): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colorOf('--text-muted'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { stroke: colorOf('--line'), width: 1 },
    font: '11px system-ui, sans-serif',
  };
  const series: uPlot.Series[] = [{ label: 'step' }];
  const bands: uPlot.Band[] = [];
  for (const line of lines) {
    const stroke = colorOf(line.color);
    series.push(seriesOf(line, stroke));
    if (line.band === undefined) continue;
    const index = series.length;
    const edge = { stroke: 'transparent', spanGaps: true, points: { show: false }, class: 'chart-edge' };
    series.push({ ...edge, label: `${line.label} low` }, { ...edge, label: `${line.label} high` });
    bands.push({ series: [index + 1, index], fill: stroke.replace('rgb(', 'rgba(').replace(')', ', 0.16)') });
  }
  return {
    ...size,
    scales: { x: { time: false }, y: { range: valueRange } },
    axes: [
      { ...axis, size: 30, space: 50, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] },
      { ...axis, size: 58, values: (_chart: uPlot, splits: number[]) => splits.map(axisText) },
    ],
    series,
    bands,
    cursor: { sync: { key: 'steps' }, drag: { x: true, y: false } },
    legend: { show: hasLegend },
  };
}

/** The range of an axis with a margin; a constant is in the middle of one unit, and 0 at its lower end. */
function valueRange(_chart: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [0, 1];
  if (low < high) return uPlot.rangeNum(low, high, 0.1, true);
  if (low === 0) return [0, 1];
  const half = Math.abs(low) / 2;
  return [low - half, high + half];
}

function axisText(value: number): string {
  return value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(6)));
}

function seriesOf({ label, isSparse, isLimit, legendValues }: ChartLine, stroke: string): uPlot.Series {
  const value = (...[, raw, , index]: [uPlot, number | null, number, number | null]): string =>
    numberText(legendValues === undefined || index === null ? raw : legendValues[index]);
  if (isLimit) return { label, stroke, value, width: 1, dash: [3, 4], auto: false, points: { show: false } };
  return isSparse
    ? { label, stroke, value, width: 1.5, dash: [5, 4], spanGaps: true, points: { show: true, size: 7, fill: stroke } }
    : { label, stroke, value, width: 2, spanGaps: true, points: { show: hasOneValue, size: 7, fill: stroke } };
}

/** Whether a series has no line to draw, as after the first step. */
function hasOneValue({ data }: uPlot, index: number): boolean {
  return (data[index] ?? []).filter((value) => value != null).length === 1;
}
