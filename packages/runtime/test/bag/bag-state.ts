import { randomNumbers } from '../../../../tools/random-numbers.ts';
import { parameterCount } from './bag-policy.ts';

/** Everything a checkpoint of the test policy holds. */
export interface BagState {
  readonly parameters: Float32Array;
  readonly firstMoment: Float64Array;
  readonly secondMoment: Float64Array;
  step: number;
  policyVersion: number;
}

/** Fresh weights. */
export function initialState(seed: number): BagState {
  const random = randomNumbers(seed);
  return {
    parameters: Float32Array.from({ length: parameterCount }, () => random() - 0.5),
    firstMoment: new Float64Array(parameterCount),
    secondMoment: new Float64Array(parameterCount),
    step: 0,
    policyVersion: 0,
  };
}

/** As text; JSON keeps every bit of a double. */
export function stateToJson(state: BagState): object {
  const { parameters, firstMoment, secondMoment, step, policyVersion } = state;
  return {
    parameters: [...parameters],
    firstMoment: [...firstMoment],
    secondMoment: [...secondMoment],
    step,
    policyVersion,
  };
}

/** What {@link stateToJson} wrote. */
export function stateFromJson(json: Record<keyof BagState, number & readonly number[]>): BagState {
  return {
    parameters: Float32Array.from(json.parameters),
    firstMoment: Float64Array.from(json.firstMoment),
    secondMoment: Float64Array.from(json.secondMoment),
    step: json.step,
    policyVersion: json.policyVersion,
  };
}
