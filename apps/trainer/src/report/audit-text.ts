import { quantityText } from '@agentlightning/core/internal';
import type { AuditAgreement, AuditFinding, AuditSeries, RunAudit } from '@agentlightning/core/protocol';
import { terminalText } from '@agentlightning/trace';
import { defaultDashboardPort } from '../doctor/dashboard-port.ts';
import { textTable } from './text-formats.ts';

/** The result of `agl audit`, for the terminal. */
export function auditText(audit: RunAudit): string {
  const { runId, steps, rollouts, series, findings, judge, people, notes } = audit;
  const read = `${quantityText(rollouts, 'stored rollout')} of ${quantityText(steps.length, 'step')} of run ${runId}`;
  return [
    findings.length === 0 ? `No finding in ${read}.` : `${quantityText(findings.length, 'finding')} in ${read}:`,
    ...findings.flatMap((finding) => ['', ...findingLines(finding)]),
    ...[false, true].flatMap((isHeldOut) => seriesLines(series.filter((each) => each.isHeldOut === isHeldOut))),
    '',
    ...(judge === null ? [] : [agreementText('the second judge', judge)]),
    ...(people === null ? [] : [agreementText('the labels of people', people)]),
    ...notes,
    ...(findings.some((finding) => finding.rollouts.length > 0) ? ['The links are those of `agl dashboard`.'] : []),
    '',
  ].join('\n');
}

function findingLines({ code, message, remedy, rollouts }: AuditFinding): readonly string[] {
  return [
    terminalText(`! ${code}: ${message}.`),
    `  ${remedy}`,
    ...rollouts.map(({ rolloutId, reward }) =>
      terminalText(
        `  reward ${reward?.toFixed(2) ?? 'none'}: http://127.0.0.1:${defaultDashboardPort}/rollouts/${encodeURIComponent(rolloutId)}`,
      ),
    ),
  ];
}

function seriesLines(series: readonly AuditSeries[]): readonly string[] {
  const [first] = series;
  if (first === undefined) return [];
  const number = (value: number | null | undefined): string => {
    if (value === null || value === undefined) return '–';
    return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
  };
  return [
    '',
    ...textTable(
      [first.isHeldOut ? 'held-out rollouts, by step' : 'training rollouts, by step', ...first.steps.map(String)],
      series.map(({ name, values }) => [name, ...values.map(number)]),
    ),
  ];
}

function agreementText(whose: string, { pairs, agreement, prefersLonger, prefersEarlier }: AuditAgreement): string {
  if (agreement === null) return `No pair of rollouts is ordered both by the reward and by ${whose}.`;
  const percent = (share: number): string => `${Math.round(100 * share)} %`;
  const biases = [
    ...(prefersLonger === null ? [] : [`the longer response in ${percent(prefersLonger)}`]),
    ...(prefersEarlier === null ? [] : [`the earlier sibling in ${percent(prefersEarlier)}`]),
  ];
  const rest = biases.length === 0 ? '' : `; in the others the reward prefers ${biases.join(' and ')}`;
  return `The reward and ${whose} agree in ${percent(agreement)} of ${quantityText(pairs, 'pair')}${rest}.`;
}
