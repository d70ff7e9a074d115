import { addressText } from '@agentlightning/core/internal';
import { examineTinkerServer, type LossScale, type MeasuredServer } from '@agentlightning/runtime-tinker';
import { type TinkerRuntimeConfig, tinkerServerOf } from '../runtime/tinker-runtime.ts';
import { type Finding, fine } from './finding.ts';

const scales: Readonly<Record<LossScale, string>> = {
  sum: 'sums the losses of tokens, as the contract says',
  sequence_means: "takes the mean of the sequences' means; the gradients that are sent undo it",
  token_mean: 'takes the mean of the tokens of each request; the gradients that are sent undo it',
};

/**
 * Measures on a Tinker server what the protocol does not say, with a few steps of a small model that is freed.
 *
 * @throws AgentLightningError for a wrong key, an unknown model, or a server that does not respond
 */
export async function checkTinkerServer(config: TinkerRuntimeConfig): Promise<readonly Finding[]> {
  const measured = await examineTinkerServer(tinkerServerOf(config));
  return [
    fine('runtime', `Tinker server ${addressText(config.baseUrl)}; model: ${config.model}`),
    fine('tinker loss', scales[measured.lossScale]),
    samplesOf(measured),
    drawsOf(measured),
    limitOf(measured),
    fine('tinker alpha', measured.alpha === null ? 'not stated by the server' : `always ${measured.alpha}`),
  ];
}

function samplesOf({ hasSnapshots }: MeasuredServer): Finding {
  const name = 'tinker samples';
  if (hasSnapshots) return fine(name, 'come from the weights that were published');
  return {
    name,
    status: 'warning',
    detail: 'come from the newest weights: from a step to the next publication nothing is sampled',
    remedy: 'Leave `async` out of the configuration: collection beside training is refused with this server.',
  };
}

function drawsOf({ drawsFromAll }: MeasuredServer): Finding {
  const text = drawsFromAll
    ? 'are drawn from all tokens'
    : 'are the likeliest responses at `top_p` 1; requests have a `top_p` just below it';
  return fine('tinker draws', text);
}

function limitOf({ limitsGradient }: MeasuredServer): Finding {
  const name = 'tinker gradients';
  if (limitsGradient) return fine(name, 'are limited to `maxGradientNorm`');
  return {
    name,
    status: 'warning',
    detail: 'are not limited: the server ignores `maxGradientNorm`',
    remedy: 'Use a lower learning rate.',
  };
}
