import { withRollout } from '@agentlightning/core';
import { findRewards } from '@agentlightning/core/spans';
import { aRolloutContext, callTool, MemorySpanSink, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { emitOutcome, playGame, type Seats } from '../agent.ts';
import { type Role, startGame } from '../game.ts';
import { chooseTarget } from '../rule-player.ts';
import { resolveName, withoutThinking } from '../view.ts';

const roles: Record<string, Role> = {
  A1: 'wolf',
  B2: 'seer',
  C3: 'villager',
  D4: 'villager',
  E5: 'villager',
  F6: 'doctor',
};

/** The seer finds the wolf A1 on the first night and accuses it; all others vote for it. */
function play(request: { readonly body: object; readonly messages: readonly object[] }) {
  const prompt = JSON.stringify(request.messages);
  const action = /"function":\{"name":"(\w+)"/.exec(JSON.stringify(request.body))?.[1] ?? '';
  if (action === 'kill') return callTool(action, { player: 'E5' });
  if (action === 'guard') return callTool(action, { player: 'E5' });
  if (action === 'vote') return callTool(action, { player: prompt.includes('You are A1') ? 'C3' : 'A1' });
  if (prompt.includes('You are B2')) return callTool(action, { player: 'A1' });
  return respondWith('<think>I am F6 and guard E5.</think>I know nothing.');
}

async function playScripted() {
  await using model = await ScriptedModel.start(play);
  const sink = new MemorySpanSink();
  const seat = { client: new OpenAI({ apiKey: 'none', baseURL: model.baseUrl, fetch: traceFetch() }), model: 'any' };
  const seats: Seats = { wolves: seat, village: seat };
  const game = await withRollout(aRolloutContext({ sink }), async () => {
    const played = await playGame(roles, seats);
    emitOutcome(played.state);
    return played;
  });
  return { game, sink, requests: model.requests.map(({ messages }) => JSON.stringify(messages)) };
}

/** The rewards that were emitted within the spans of an agent, in order. */
function rewardsOf(sink: MemorySpanSink, agent: string): number[] {
  const own = new Set(sink.named(`invoke_agent ${agent}`).map(({ spanId }) => spanId));
  const within = sink.spans.filter(({ parentId }) => parentId !== null && own.has(parentId));
  return findRewards(within).map(({ rewards }) => rewards[0]?.value ?? Number.NaN);
}

test('the village finds the wolf that the seer accuses, and every player has its rewards', async () => {
  const { game, sink } = await playScripted();
  expect(game.state).toMatchObject({ winner: 'village', day: 2 });
  // One kill, one check, one guard, six speeches and six votes: the doctor saved the victim.
  expect(game.calls).toBe(15);
  expect(rewardsOf(sink, 'seer B2')).toEqual([0.5, 0.5, 0.5, 1]);
  expect(rewardsOf(sink, 'wolf A1')).toEqual([0.3, 0, 0.5, 0]);
  expect(rewardsOf(sink, 'villager C3')).toEqual([0, 0.5, 1]);
});

test('other players receive the speech without the text in think tags', async () => {
  const { requests } = await playScripted();
  expect(requests.some((text) => text.includes('C3: I know nothing.'))).toBe(true);
  expect(requests.filter((text) => text.includes('think') || text.includes('guard E5'))).toEqual([]);
});

test.each([
  ['<think>a wolf</think>Hello.', 'Hello.'],
  ['A<think>x</think>B<think>y</think>C', 'ABC'],
  ['Hello. <think>I must not say that', 'Hello.'],
  ['no tags', 'no tags'],
])('%j is heard as %j', (text, heard) => expect(withoutThinking(text)).toBe(heard));

test('a game ends without a winner when its number of calls or tokens reaches the limit', async () => {
  await using model = await ScriptedModel.start(() => respondWith('I do nothing.'));
  const seat = { client: new OpenAI({ apiKey: 'none', baseURL: model.baseUrl }), model: 'any' };
  const seats: Seats = { wolves: seat, village: seat };
  const byCalls = await playGame(roles, seats, { days: 99 });
  expect([byCalls.state.winner, byCalls.calls]).toEqual([null, 64]);
  const byTokens = await playGame(roles, seats, { tokens: 1 });
  expect([byTokens.state.winner, byTokens.calls]).toEqual([null, 3]);
});

test('the outside model accuses the wolf that it found, and never a fellow wolf', () => {
  const seer = chooseTarget('You are B2, seer. A1 is wolf. C3 is good.', 'Alive: A1 C3 D4\nSpeak.', 'accuse');
  expect(seer.target).toBe('A1');
  const wolf = chooseTarget('You are A1, wolf. C3 is wolf.', 'Alive: B2 C3\nB2: C3 is wolf.\nVote.', 'vote');
  expect(wolf.target).toBe('B2');
  expect(chooseTarget('You are D4, villager.', 'Alive: A1 C3\nSpeak.', 'accuse').target).toBeNull();
});

test('a player is named by its name or its initial', () => {
  const state = startGame(roles);
  expect(['C3', 'C', 'C9', 'Z3', '', null].map((text) => resolveName(state, text))).toEqual([
    'C3',
    'C3',
    'C3',
    null,
    '',
    null,
  ]);
});
