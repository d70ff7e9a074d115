import type { AuditAgreement, AuditFinding } from '@agentlightning/core/protocol';
import { finding, groupsOf, highest } from './audit-findings.ts';
import type { AuditSample } from './audit-sample.ts';

/** Two rollouts of which another judgement prefers the first. */
export type JudgedPair = readonly [better: AuditSample, worse: AuditSample];

/** The share of agreement below which the reward is questioned: half is chance. */
const minAgreement = 0.6;

/** Pairs below which no agreement is judged. */
const minPairs = { judge: 20, people: 5 };

/** Standard deviations of a fair coin from which a preference among disagreements is a bias. */
const biasDeviations = 3;

/** The pairs of siblings that a judge does not score equally. */
export function pairsByJudge(
  samples: readonly AuditSample[],
  scores: ReadonlyMap<string, number | null>,
): readonly JudgedPair[] {
  return groupsOf(samples).flatMap((group) =>
    pairsOf(group).flatMap(([one, other]): JudgedPair[] => {
      const [left, right] = [scores.get(one.rolloutId) ?? null, scores.get(other.rolloutId) ?? null];
      if (left === null || right === null || left === right) return [];
      return [left > right ? [one, other] : [other, one]];
    }),
  );
}

/** The pairs of a good and a bad rollout, and those that a person compared. */
export function pairsByPeople(samples: readonly AuditSample[]): readonly JudgedPair[] {
  const byId = new Map(samples.map((sample) => [sample.rolloutId, sample]));
  const compared = samples.flatMap((better) =>
    better.preferredOver.flatMap((id): JudgedPair[] => {
      const worse = byId.get(id);
      return worse === undefined ? [] : [[better, worse]];
    }),
  );
  const [good, bad] = (['good', 'bad'] as const).map((label) => samples.filter((sample) => sample.label === label));
  return [...compared, ...(good ?? []).flatMap((better) => (bad ?? []).map((worse): JudgedPair => [better, worse]))];
}

/** The share of pairs of which the reward prefers the same rollout, and the preferences among the others. Equal rewards do not count. */
export function agreementOf(pairs: readonly JudgedPair[]): AuditAgreement {
  const decided = pairs.filter(([better, worse]) => differ(better.reward, worse.reward));
  const against = disagreements(decided);
  return {
    pairs: decided.length,
    agreement: decided.length === 0 ? null : 1 - against.length / decided.length,
    prefersLonger: preference(against, ({ length }) => length)?.share ?? null,
    prefersEarlier: preference(against, ({ position }) => -position)?.share ?? null,
  };
}

/** The findings of a comparison with a judge or people. */
export function agreementFindings(pairs: readonly JudgedPair[], by: 'judge' | 'people'): readonly AuditFinding[] {
  const { pairs: count, agreement } = agreementOf(pairs);
  const against = disagreements(pairs.filter(([better, worse]) => differ(better.reward, worse.reward)));
  const whose = by === 'judge' ? 'the second judge' : 'people';
  const rejected = highest([...new Set(against.map(([, worse]) => worse))]);
  const biases = [
    { code: 'length-bias' as const, text: 'the longer response', bias: preference(against, ({ length }) => length) },
    {
      code: 'position-bias' as const,
      text: 'the earlier sibling',
      bias: preference(against, ({ position }) => -position),
    },
  ];
  return [
    ...(count < minPairs[by] || agreement === null || agreement >= minAgreement
      ? []
      : [
          finding(by === 'judge' ? 'judge-disagrees' : 'people-disagree', rejected, {
            message: `the reward and ${whose} prefer the same rollout in ${Math.round(100 * agreement)} % of ${count} pairs; half is chance`,
            evidence: { pairs: count, agreement },
          }),
        ]),
    ...biases.flatMap(({ code, text, bias }) =>
      bias === null || bias.deviations < biasDeviations
        ? []
        : [
            finding(code, rejected, {
              message: `where the reward and ${whose} disagree, the reward prefers ${text} in ${Math.round(100 * bias.share)} % of ${bias.pairs} pairs`,
              evidence: { share: bias.share, pairs: bias.pairs },
            }),
          ],
    ),
  ];
}

/** The pairs of which the reward prefers the other rollout. */
function disagreements(pairs: readonly JudgedPair[]): readonly JudgedPair[] {
  return pairs.filter(([better, worse]) => (worse.reward ?? 0) > (better.reward ?? 0));
}

/** Among disagreements, the share in which the reward prefers the rollout with the higher value; null without differences. */
function preference(
  against: readonly JudgedPair[],
  measure: (sample: AuditSample) => number,
): { readonly share: number; readonly pairs: number; readonly deviations: number } | null {
  const different = against.filter(([better, worse]) => measure(better) !== measure(worse));
  if (different.length === 0) return null;
  const share = different.filter(([better, worse]) => measure(worse) > measure(better)).length / different.length;
  return { share, pairs: different.length, deviations: (share - 0.5) * 2 * Math.sqrt(different.length) };
}

function pairsOf(group: readonly AuditSample[]): readonly (readonly [AuditSample, AuditSample])[] {
  return group.flatMap((one, index) => group.slice(index + 1).map((other) => [one, other] as const));
}

function differ(one: number | null, other: number | null): boolean {
  return one !== null && other !== null && one !== other;
}
