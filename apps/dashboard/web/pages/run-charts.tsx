import { familyPart, runMetrics } from '@agentlightning/core/metrics';
import { type ReactNode, useMemo } from 'react';
import type { EvaluationView, RunDetail, RunMetrics } from '../../src/api/run-views.ts';
import type { ChartLine } from '../charts/chart-view.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { lineColor } from '../charts/metric-line.ts';
import { durationText } from '../data/format.ts';
import { healthMetrics } from '../data/health-metrics.ts';
import { rewardParts } from '../data/reward-parts.ts';
import { nearestIndex } from '../parts/step-scrubber.tsx';
import { HealthPanel } from './health-panel.tsx';

/** The charts of a run. */
export function RunCharts(props: {
  readonly run: RunDetail;
  readonly metrics: RunMetrics;
  /** The step of the panels that show one; null for all steps. */
  readonly step: number | null;
}): ReactNode {
  const { run, metrics, step } = props;
  const index = step === null ? null : nearestIndex(metrics.steps, step);
  return (
    <div className="panels">
      {run.kind === 'training' ? <RewardPanel evaluations={run.evaluations} metrics={metrics} /> : null}
      <ScorePanel metrics={metrics} />
      <RewardPartPanel run={run} metrics={metrics} />
      {healthMetrics.map((metric) => (
        <HealthPanel key={metric.metric.name} metric={metric} run={run} metrics={metrics} />
      ))}
      <TimePanel metrics={metrics} index={index} />
      <FailurePanel failures={index === null ? run.failures : failuresAt(metrics, index)} step={step} />
    </div>
  );
}

function RewardPanel(props: {
  readonly evaluations: readonly EvaluationView[];
  readonly metrics: RunMetrics;
}): ReactNode {
  const { evaluations, metrics } = props;
  const chart = useMemo(() => rewardChart(evaluations, metrics), [evaluations, metrics]);
  if (chart.steps.length === 0) return null;
  return (
    <section className="panel wide" aria-labelledby="rewards-title">
      <h2 id="rewards-title">Reward: training and held-out</h2>
      <LineChart title="Reward by step" {...chart} height={260} />
    </section>
  );
}

/** The scores of the versions of a prompt search; nothing for another run. */
function ScorePanel({ metrics }: { readonly metrics: RunMetrics }): ReactNode {
  const lines = useMemo(() => scoreLines(metrics), [metrics]);
  if (lines.length === 0) return null;
  return (
    <section className="panel wide" aria-labelledby="scores-title">
      <h2 id="scores-title">Validation reward: each version, and the best so far</h2>
      <LineChart title="Validation reward by version" steps={metrics.steps} lines={lines} height={260} />
    </section>
  );
}

function scoreLines({ series }: RunMetrics): readonly ChartLine[] {
  const labels = { [runMetrics.validationScore.name]: 'version', [runMetrics.validationBestScore.name]: 'best so far' };
  return Object.entries(labels).flatMap(([metric, label], index): readonly ChartLine[] => {
    const values = series.find(({ name }) => name === metric)?.mean;
    return values === undefined ? [] : [{ label, values, color: lineColor(index) }];
  });
}

function rewardChart(evaluations: readonly EvaluationView[], metrics: RunMetrics) {
  const seriesOf = (metric: string) => metrics.series.find(({ name }) => name === metric);
  // Groups without a learning signal may have been replaced: their rewards count as well.
  const training = seriesOf(runMetrics.collectionRewardMean.name) ?? seriesOf(runMetrics.rewardMean.name);
  const steps = [...new Set([...metrics.steps, ...evaluations.map(({ step }) => step)])].sort((a, b) => a - b);
  const at = (values: readonly (number | null)[]): (number | null)[] =>
    steps.map((step) => values[metrics.steps.indexOf(step)] ?? null);
  const measured = steps.map((step) => evaluations.findLast((evaluation) => evaluation.step === step));
  const lines: ChartLine[] = [
    ...(training === undefined ? [] : [{ label: 'training', values: at(training.mean), color: '--series-1' }]),
    {
      label: 'held-out',
      values: measured.map((evaluation) => evaluation?.reward ?? null),
      color: '--series-3',
      isSparse: true,
      band: {
        low: measured.map((evaluation) => evaluation?.low ?? null),
        high: measured.map((evaluation) => evaluation?.high ?? null),
      },
    },
  ];
  return { steps, lines };
}

/** The dimensions of the reward, stacked where they add up; nothing for a single one. */
function RewardPartPanel({ run, metrics }: { readonly run: RunDetail; readonly metrics: RunMetrics }): ReactNode {
  const { parts, isWeighted } = useMemo(() => rewardParts(run, metrics), [run, metrics]);
  const lines = useMemo(
    () =>
      parts.map(({ name, values, stack }, index): ChartLine => {
        const line = { label: name, color: lineColor(index) };
        return stack === null
          ? { ...line, values }
          : { ...line, values: stack.high, legendValues: values, band: stack };
      }),
    [parts],
  );
  if (parts.length < 2) return null;
  return (
    <section className="panel wide" aria-labelledby="parts-title">
      <h2 id="parts-title">
        {isWeighted ? 'Parts of the reward, stacked: weight × mean' : 'Parts of the reward: means'}
      </h2>
      <LineChart title="Parts of the reward" steps={metrics.steps} lines={lines} height={200} />
    </section>
  );
}

function TimePanel(props: { readonly metrics: RunMetrics; readonly index: number | null }): ReactNode {
  const { metrics, index } = props;
  const bars = timeBars(metrics, index);
  if (bars.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="time-title">
      <h2 id="time-title">{index === null ? 'Time of a step (mean)' : `Time of step ${metrics.steps[index]}`}</h2>
      <BarList bars={bars} />
    </section>
  );
}

/** The time of each part of a step, or its mean over all steps. What no part covers is the optimiser, weights and checkpoint. */
function timeBars({ series }: RunMetrics, index: number | null): readonly Bar[] {
  const mean = (name: string): number => {
    const values = series.find((each) => each.name === name)?.mean ?? [];
    const known = (index === null ? values : [values[index] ?? null]).filter((value) => value !== null);
    return known.length === 0 ? 0 : known.reduce((sum, value) => sum + value, 0) / known.length;
  };
  const step = mean(runMetrics.stepSeconds.name);
  if (step === 0) return [];
  const collect = mean(runMetrics.collectSeconds.name);
  const parts = [
    ['collect', collect],
    ['update, weights, checkpoint', Math.max(0, step - collect)],
  ] as const;
  return parts.map(([label, seconds]) => ({
    label,
    value: seconds,
    text: `${durationText(seconds * 1000)} (${Math.round((seconds / step) * 100)} %)`,
  }));
}

/** The failures of a step by cause. */
function failuresAt({ series }: RunMetrics, index: number): RunDetail['failures'] {
  const counts = series.flatMap(({ name, mean }) => {
    const cause = familyPart(runMetrics.failures, name);
    return cause === null ? [] : [[cause, mean[index] ?? 0] as const];
  });
  return Object.fromEntries(counts);
}

function FailurePanel(props: { readonly failures: RunDetail['failures']; readonly step: number | null }): ReactNode {
  const { failures, step } = props;
  const causes = Object.entries(failures).filter(([, count]) => count > 0);
  if (Object.keys(failures).length === 0) return null;
  return (
    <section className="panel" aria-labelledby="failures-title">
      <h2 id="failures-title">
        {step === null ? 'Failed training rollouts by cause' : `Failed rollouts of step ${step} by cause`}
      </h2>
      {causes.length === 0 ? <p className="muted">None failed.</p> : null}
      <BarList bars={causes.map(([label, value]) => ({ label, value, text: String(value) }))} />
    </section>
  );
}

/** A bar with its label and its value as text. */
interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

/** Horizontal bars on a common scale, largest first. */
function BarList({ bars }: { readonly bars: readonly Bar[] }): ReactNode {
  const largest = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <dl className="bars">
      {[...bars]
        .sort((one, other) => other.value - one.value)
        .map(({ label, value, text }) => (
          <div key={label}>
            <dt className="foreign">{label}</dt>
            <dd>
              <meter min={0} max={largest || 1} value={value} aria-label={label} />
            </dd>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}
