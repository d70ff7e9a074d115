/** The metrics of algorithms that learn from preferences, in the order of the documentation. */
export const preferenceMetrics = {
  preferencePairs: { name: 'preference/pairs', unit: 'pairs', title: 'Preference pairs of dpo' },
  preferenceLoss: {
    name: 'preference/loss',
    unit: 'number',
    bounds: [0, null],
    better: 'lower',
    title: 'Loss of the pairs',
  },
  preferenceMargin: {
    name: 'preference/margin',
    unit: 'number',
    better: 'higher',
    title: 'Margin of the chosen responses',
  },
  preferenceAccuracy: {
    name: 'preference/accuracy',
    unit: 'share',
    better: 'higher',
    title: 'Share of pairs in the right order',
  },
  preferenceKl: {
    name: 'preference/kl',
    unit: 'nats',
    bounds: [0, null],
    title: 'Reference point of kto: divergence of responses from the initial model',
  },
  preferenceDesirable: { name: 'preference/desirable', unit: 'share', title: 'Share of desirable rollouts of kto' },
} as const;

/** The metrics of algorithms with a teacher, in the order of the documentation. */
export const teacherMetrics = {
  teacherRollouts: { name: 'teacher/rollouts', unit: 'rollouts', title: 'Rollouts that the teacher scored' },
  teacherWithoutFeedback: {
    name: 'teacher/without_feedback',
    unit: 'rollouts',
    better: 'lower',
    title: 'Rollouts without feedback',
    note: 'They are trained by their reward only.',
  },
  teacherFeedback: {
    name: 'teacher/feedback/<source>',
    unit: 'rollouts',
    title: 'Rollouts with feedback of a source',
  },
  teacherFeedbackCut: {
    name: 'teacher/feedback_cut',
    unit: 'rows',
    better: 'lower',
    title: 'Rows whose feedback was shortened',
    note: 'The prompt, the feedback and the response are longer than the context of the teacher.',
  },
  teacherRowsLeftOut: {
    name: 'teacher/rows_left_out',
    unit: 'rows',
    better: 'lower',
    title: 'Rows that the teacher cannot score',
    note: 'They are longer than its context, or their conversation was not recorded.',
  },
  teacherKl: {
    name: 'teacher/kl',
    unit: 'nats',
    bounds: [null, null],
    title: 'Reverse KL divergence from the teacher',
    note: 'Mean over the sampled tokens of `log p(policy) - log p(teacher)`; it can be negative by chance.',
  },
  teacherClipped: {
    name: 'teacher/clipped',
    unit: 'share',
    title: 'Share of tokens whose difference from the teacher was clipped',
  },
} as const;
