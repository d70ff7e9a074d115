import { AgentLightningError } from '@agentlightning/core';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';
import type { ResolvedConfig } from '../config/resolve-config.ts';

type TrainableSettings = Pick<ResolvedConfig, 'sampling'> & {
  readonly policies: readonly Pick<ResolvedConfig['policies'][number], 'algorithm'>[];
  readonly collection: Pick<ResolvedConfig['collection'], 'mode'>;
};

/**
 * Refuses a configuration that the runtime would reject after the first rollouts.
 *
 * @throws AgentLightningError CONFIG, with the feature that restricts the runtime
 */
export function assertTrainable(
  { sampling, collection, policies }: TrainableSettings,
  { features = [], losses }: Pick<RuntimeCapabilities, 'features' | 'losses'>,
): void {
  const { temperature = 1, topP = 1 } = sampling;
  if (features.includes('unit_temperature') && (temperature !== 1 || topP !== 1)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `sampling is { temperature: ${temperature}, topP: ${topP} }, but the runtime trains on samples of temperature 1 and topP 1 only (feature unit_temperature)`,
      remedy: 'Remove `sampling.temperature` and `sampling.topP`.',
    });
  }
  if (features.includes('on_policy_only') && collection.mode === 'async') {
    throw new AgentLightningError({
      code: 'CONFIG',
      message:
        "collection.mode is 'async', but the runtime samples from the newest weights only, published or not (feature on_policy_only)",
      remedy: "Set `collection: { mode: 'sync' }`.",
    });
  }
  const hasEntropy = losses.some(({ defaults }) => 'entropy_coefficient' in defaults);
  for (const { algorithm } of policies) {
    const bonus = algorithm !== null && 'entropyCoefficient' in algorithm ? algorithm.entropyCoefficient : undefined;
    if (!bonus || hasEntropy) continue;
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `algorithm.entropyCoefficient is ${bonus}, but the runtime has no entropy bonus (no loss has entropy_coefficient)`,
      remedy: 'Remove `entropyCoefficient`, or train on another runtime.',
    });
  }
}
