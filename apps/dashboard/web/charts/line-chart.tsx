import { type ReactNode, useContext, useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colorOf, useIsDark } from '../data/color-theme.ts';
import { durationText, numberText } from '../data/format.ts';
import { type ChartLine, ChartViewContext, smoothedLines } from './chart-view.ts';
import { useStepMarker } from './step-marker.ts';

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

/** Lines over training steps or their time. Charts of a page share the cursor. */
export function LineChart({ title, steps, lines: given, height = 200, hasLegend = true }: LineChartProps): ReactNode {
  const { smoothing, secondsAt } = useContext(ChartViewContext);
  const lines = useMemo(() => smoothedLines(given, smoothing), [given, smoothing]);
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<uPlot | null>(null);
  const drawMarker = useStepMarker(shown);
  const isDark = useIsDark();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    // The colours of a canvas do not follow the theme.
    element.dataset['dark'] = String(isDark);
    const isTime = secondsAt !== null;
    const chart = new uPlot(
      {
        ...chartOptions(lines, { width: element.clientWidth, height, hasLegend, isTime }),
        hooks: { draw: [drawMarker] },
      },
      chartData(isTime ? steps.map(secondsAt) : steps, lines),
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
  }, [steps, lines, height, hasLegend, isDark, drawMarker, secondsAt]);
  return (
    <figure className="chart" aria-label={`${title}. ${given.map(lineSummary).join('; ')}`}>
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

interface ChartLayout {
  readonly width: number;
  readonly height: number;
  readonly hasLegend: boolean;
  /** Whether the axis has seconds instead of steps. */
  readonly isTime: boolean;
}

/** Distances of the marks of an axis in seconds. */
const timeSteps = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400, 604_800];

function chartOptions(lines: readonly ChartLine[], { hasLegend, isTime, ...size }: ChartLayout): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colorOf('--text-muted'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { stroke: colorOf('--line'), width: 1 },
    font: '11px system-ui, sans-serif',
  };
  const secondsText = (seconds: number | null): string => durationText(seconds === null ? null : seconds * 1000);
  const series: uPlot.Series[] = [
    isTime
      ? { label: 'time', value: (_chart: uPlot, seconds: number | null) => secondsText(seconds) }
      : { label: 'step' },
  ];
  const bands: uPlot.Band[] = [];
  for (const line of lines) {
    const stroke = colorOf(line.color);
    series.push(seriesOf(line, stroke));
    if (line.band === undefined) continue;
    const index = series.length;
    const edge = { stroke: 'transparent', spanGaps: true, points: { show: false }, class: 'chart-edge' };
    series.push({ ...edge, label: `${line.label} low` }, { ...edge, label: `${line.label} high` });
    bands.push({ series: [index + 1, index], fill: transparent(stroke, 0.16) });
  }
  return {
    ...size,
    scales: { x: { time: false }, y: { range: valueRange } },
    axes: [
      isTime
        ? { ...axis, size: 30, space: 80, incrs: timeSteps, values: (_chart, splits) => splits.map(secondsText) }
        : { ...axis, size: 30, space: 50, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000] },
      { ...axis, size: 58, values: (_chart: uPlot, splits: number[]) => splits.map(axisText) },
    ],
    series,
    bands,
    cursor: { sync: { key: 'steps' }, drag: { x: true, y: false } },
    legend: { show: hasLegend },
  };
}

function transparent(color: string, opacity: number): string {
  return color.replace('rgb(', 'rgba(').replace(')', `, ${opacity})`);
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

function seriesOf({ label, isSparse, isLimit, isFaint, legendValues }: ChartLine, stroke: string): uPlot.Series {
  if (isFaint) {
    const paint = { stroke: transparent(stroke, 0.3), points: { show: false } };
    return { label: `${label} recorded`, ...paint, width: 1, spanGaps: true, class: 'chart-edge' };
  }
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
