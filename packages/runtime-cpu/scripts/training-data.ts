import type { TrainingDatum } from '@agentlightning/core/training-runtime';
import { renderPrompt } from '../src/text/chat-template.ts';
import { specialToken } from '../src/text/vocabulary.ts';
import type { Transcript } from './corpus.ts';

/** A conversation as a datum in which everything the assistant says is trained on. */
export function toTrainingDatum({ messages, tools }: Transcript): TrainingDatum {
  const tokens = renderPrompt(messages, tools).slice(0, -1);
  const trained: { start: number; end: number }[] = [];
  for (const [position, token] of tokens.entries()) {
    if (token !== specialToken.assistant) continue;
    trained.push({ start: position + 1, end: tokens.indexOf(specialToken.end, position) + 1 });
  }
  const count = trained.reduce((sum, { start, end }) => sum + end - start, 0);
  return {
    tokenIds: Int32Array.from(tokens),
    trained,
    samplingLogprobs: new Float32Array(count),
    advantages: new Float32Array(count),
    weights: new Float32Array(count).fill(1),
    temperature: 1,
    rolloutId: '',
    groupId: '',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}
