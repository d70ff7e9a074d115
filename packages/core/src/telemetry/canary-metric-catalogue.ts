/** The metrics of the trials of candidates, which `agl serve` records with a deployment: a step is a minute since 1970. */
export const canaryMetrics = {
  canaryShare: { name: 'canary/share', unit: 'share', title: 'Share of the users who have the candidate' },
  canaryVerdict: {
    name: 'canary/verdict',
    unit: 'number',
    better: 'higher',
    bounds: [-1, 1],
    title: 'Verdict on the candidate',
    note: '1 is better, −1 worse, 0 not shown. Absent while it cannot be known.',
  },
  canaryQuantityVerdict: {
    name: 'canary/<quantity>/verdict',
    unit: 'number',
    better: 'higher',
    bounds: [-1, 1],
    title: 'Verdict by score, failures, latency or cost, or by a part of the score',
  },
  canaryLive: { name: 'canary/<quantity>/live', unit: 'number', title: 'Mean of the live version, by user' },
  canaryCandidate: { name: 'canary/<quantity>/candidate', unit: 'number', title: 'Mean of the candidate, by user' },
  canaryLow: {
    name: 'canary/<quantity>/low',
    unit: 'number',
    title: 'Lower bound of candidate minus live',
    note: 'Holds at all looks together.',
  },
  canaryHigh: { name: 'canary/<quantity>/high', unit: 'number', title: 'Upper bound of candidate minus live' },
  canaryLiveUsers: {
    name: 'canary/<quantity>/live_users',
    unit: 'number',
    bounds: [0, null],
    title: 'Users of the live version with a value',
  },
  canaryCandidateUsers: {
    name: 'canary/<quantity>/candidate_users',
    unit: 'number',
    bounds: [0, null],
    title: 'Users of the candidate with a value',
  },
} as const;
