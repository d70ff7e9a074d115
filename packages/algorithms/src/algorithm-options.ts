import type { GrpoOptions } from './grpo/grpo-options.ts';

/** An algorithm by name, with its options: what a configuration file says. Defaults are the vetted settings. */
export type AlgorithmOptions = { readonly type: 'grpo' } & GrpoOptions;

/** The names of the algorithms. */
export type AlgorithmType = AlgorithmOptions['type'];
