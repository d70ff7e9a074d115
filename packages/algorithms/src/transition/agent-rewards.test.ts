import type { Span } from '@agentlightning/core';
import { genAiAttributes, toRewards } from '@agentlightning/core/internal';
import { linkAttributes, rewardAttributes } from '@agentlightning/core/spans';
import { aModelCallSpan, aRewardSpan, aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { air } from '../intermediate-reward/automatic-intermediate-rewards.ts';
import { transitionsFromSpans } from './transitions-from-spans.ts';

const agentSpan = (name: string, spanId: string, parentId: string | null = null): Span =>
  aSpan({ spanId, parentId, name: `invoke_agent ${name}`, attributes: { [genAiAttributes.agentName]: name } });

const writer = agentSpan('writer', 'aaaaaaaaaaaaaaa1');
const critic = agentSpan('critic', 'aaaaaaaaaaaaaaa2');
const team = agentSpan('team', 'aaaaaaaaaaaaaaa3');

const callOf = (agent: Span, agentName: string, sequenceId: number): Span => ({
  ...aModelCallSpan({ sequenceId, agentName, agentPath: [agentName] }),
  parentId: agent.spanId,
});
const rewardIn = (within: Span | null, sequenceId: number, value: number): Span =>
  aRewardSpan(value, { sequenceId, parentId: within?.spanId ?? null });

const agents = [writer, critic, team];

test('a reward that was emitted while an agent was at work is that of the agent, also when another has called since', () => {
  const { transitions, agentRewards, finalReward } = transitionsFromSpans([
    ...agents,
    callOf(writer, 'writer', 1),
    callOf(critic, 'critic', 2),
    rewardIn(writer, 3, 0.25),
    rewardIn(critic, 4, -1),
    rewardIn(null, 5, 0.5),
  ]);
  expect(transitions.map(({ agentName, reward }) => [agentName, reward])).toEqual([
    ['writer', 0.25],
    ['critic', -1],
  ]);
  expect(agentRewards).toEqual({ writer: 0.25, critic: -1 });
  expect(finalReward).toBe(0.5);
});

test('a reward within an agent that called no model belongs to no agent', () => {
  const { transitions, agentRewards } = transitionsFromSpans([
    ...agents,
    callOf(writer, 'writer', 1),
    rewardIn(team, 2, 1),
  ]);
  expect(transitions.map(({ reward }) => reward)).toEqual([1]);
  expect(agentRewards).toEqual({});
});

test('a reward before the first call of its agent still reaches the call before it', () => {
  const { transitions } = transitionsFromSpans([
    ...agents,
    callOf(writer, 'writer', 1),
    rewardIn(critic, 2, 0.5),
    callOf(critic, 'critic', 3),
    rewardIn(null, 4, 0),
  ]);
  expect(transitions.map(({ reward }) => reward)).toEqual([0.5, 0]);
});

test('a link goes before the agent that a reward was emitted in', () => {
  const attributes = {
    ...rewardAttributes(toRewards(0.75)),
    ...linkAttributes({ [genAiAttributes.responseId]: 'chatcmpl-1' }),
  };
  const linked = { ...rewardIn(critic, 3, 0), attributes };
  const { agentRewards, transitions } = transitionsFromSpans([
    ...agents,
    callOf(writer, 'writer', 1),
    callOf(critic, 'critic', 2),
    linked,
  ]);
  expect(agentRewards).toEqual({ writer: 0.75 });
  expect(transitions.map(({ reward }) => reward)).toEqual([0.75, null]);
});

test('rewards of rules are meant for the agent whose turn they judge', () => {
  const { agentRewards } = transitionsFromSpans(
    [...agents, callOf(writer, 'writer', 1), callOf(critic, 'critic', 2), rewardIn(critic, 3, 1)],
    { intermediateRewards: [air.when('any call', () => true, 0.125)] },
  );
  expect(agentRewards).toEqual({ writer: 0.125, critic: 1.125 });
});
