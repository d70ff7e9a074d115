import type { PolicyGradientOptions } from './policy-gradient/policy-gradient-options.ts';
import type { CustomOptions } from './recipes/custom.ts';
import type { DistillationOptions } from './recipes/distillation.ts';
import type { PreferenceOptions } from './recipes/dpo.ts';
import type { UnpairedPreferenceOptions } from './recipes/kto.ts';
import type { SelfDistillationOptions } from './recipes/sdpo.ts';
import type { SupervisedOptions } from './supervised/supervised-options.ts';

/** The recipes of the policy-gradient family. They take the same options and differ in their defaults. */
export type PolicyGradientType = 'grpo' | 'dr-grpo' | 'dapo' | 'gspo' | 'cispo' | 'rloo' | 'reinforce++' | 'ppo';

/** The recipes for supervised fine-tuning. */
export type SupervisedType = 'sft' | 'rejection-sampling';

/** An algorithm by name, with its options, as in a configuration file. */
export type AlgorithmOptions =
  | ({ readonly type: PolicyGradientType } & PolicyGradientOptions)
  | ({ readonly type: SupervisedType } & SupervisedOptions)
  | ({ readonly type: 'dpo' } & PreferenceOptions)
  | ({ readonly type: 'kto' } & UnpairedPreferenceOptions)
  | ({ readonly type: 'sdpo' } & SelfDistillationOptions)
  | ({ readonly type: 'distillation' } & DistillationOptions)
  | ({ readonly type: 'custom' } & CustomOptions);

/** The names of the algorithms. */
export type AlgorithmType = AlgorithmOptions['type'];
