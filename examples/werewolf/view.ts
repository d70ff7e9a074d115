/**
 * What a player sees and says: the messages of a turn with private knowledge and public speeches, and the public part of a
 * response.
 *
 * @module
 */
import type OpenAI from 'openai';
import { type Action, type Decision, type GameState, living, type Player, type Turn, teamOf } from './game.ts';

/** Longest speech that others hear, in characters. */
const maxSpeechLength = 32;

const requests: Readonly<Record<Action, string>> = {
  kill: 'Kill.',
  check: 'Check.',
  guard: 'Guard.',
  accuse: 'Speak.',
  vote: 'Vote.',
};

/** The one tool of a turn: a player is its argument. */
export function toolOf(action: Action) {
  const parameters = { type: 'object', properties: { player: { type: 'string' } }, required: ['player'] };
  return { type: 'function' as const, function: { name: action, parameters } };
}

/** The messages of a player's turn. */
export function messagesOf(state: GameState, { player, action }: Turn): OpenAI.ChatCompletionMessageParam[] {
  const self = state.players.find(({ name }) => name === player);
  const others = living(state).flatMap(({ name }) => (name === player ? [] : [name]));
  const speeches = state.speeches.map(({ speaker, text }) => `${speaker}: ${text}`);
  const lines = [`Alive: ${others.join(' ')}`, ...speeches, requests[action]];
  const knowledge = self === undefined ? [] : knowledgeOf(state, self);
  return [
    { role: 'system', content: [`You are ${player}, ${self?.role ?? 'dead'}.`, ...knowledge].join(' ') },
    { role: 'user', content: lines.join('\n') },
  ];
}

/** Wolves know each other; the seer knows the teams of the living players that it checked. */
function knowledgeOf(state: GameState, self: Player): string[] {
  const known = living(state).filter(
    ({ name, role }) =>
      name !== self.name &&
      ((self.role === 'wolf' && role === 'wolf') || (self.role === 'seer' && state.checked.includes(name))),
  );
  return known.map(({ name, role }) => `${name} is ${teamOf(role) === 'wolves' ? 'wolf' : 'good'}.`);
}

/** A response without its reasoning, which others must not hear. An unclosed think tag hides the rest. */
export function withoutThinking(text: string): string {
  return text.replaceAll(/<think>[\s\S]*?(<\/think>|$)/g, '').trim();
}

/** The living player of this name, else the only one with this initial; null without one. */
export function resolveName(state: GameState, text: string | null): string | null {
  const names = living(state).map(({ name }) => name);
  if (text === null || text === '' || names.includes(text)) return text;
  const [first, second] = names.filter((name) => name.startsWith(text.slice(0, 1)));
  return second === undefined ? (first ?? null) : null;
}

/** The decision of a response: the argument of the tool, and the speech that others hear. */
export function decisionOf(state: GameState, turn: Turn, message: OpenAI.ChatCompletionMessage): Decision {
  const { player, action } = turn;
  const target = resolveName(state, argumentOf(message));
  if (action !== 'accuse') return { player, target };
  const spoken = withoutThinking(message.content ?? '').replaceAll(/\s+/g, ' ');
  const accusation = target === null ? '' : `${target} is wolf.`;
  return { player, target, text: `${spoken.slice(0, maxSpeechLength)} ${accusation}`.trim() };
}

function argumentOf(message: OpenAI.ChatCompletionMessage): string | null {
  const [call] = message.tool_calls ?? [];
  if (call?.type !== 'function') return null;
  try {
    const { player } = JSON.parse(call.function.arguments) as { player?: unknown };
    return typeof player === 'string' ? player : null;
  } catch {
    return null;
  }
}
