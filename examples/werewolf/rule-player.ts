/**
 * The outside model of this example plays by rules. It reasons in think tags, which the game removes, and reads only the messages of
 * its turn, as a language model would.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type { ScriptedReply, ScriptedRequest } from '@agentlightning/example-scripted-endpoint';

/** The response to a turn, with the reasoning in think tags. */
export function playByRules({ messages, tools }: ScriptedRequest): ScriptedReply {
  const [system = '', user = ''] = messages.map(({ content }) => content);
  const action = tools[0] ?? 'vote';
  const { target, thought } = chooseTarget(system, user, action);
  const thinking = `<think>${thought}</think>`;
  if (target === null) return { content: `${thinking}unknown` };
  return { content: thinking, call: { name: action, arguments: { player: target } } };
}

/**
 * The rules. A wolf accuses and kills at random, and votes with the first accusation of the village. The seer accuses a wolf that
 * it found. Anyone else is silent, and votes for the player who was accused most.
 */
export function chooseTarget(system: string, user: string, action: string): { target: string | null; thought: string } {
  const others = /^Alive: (.*)$/m.exec(user)?.[1]?.split(' ') ?? [];
  const found = [...system.matchAll(/(\w+) is wolf\./g)].map(([, name = '']) => name);
  const isWolf = /, wolf\./.test(system);
  const strangers = isWolf ? others.filter((name) => !found.includes(name)) : others;
  const accused = [...user.matchAll(/(\w+) is wolf\./g)].map(([, name = '']) => name);
  const guess = strangers[pickIndex(system + user, strangers.length)] ?? null;
  if (!isWolf && found.length > 0 && (action === 'accuse' || action === 'vote')) {
    return { target: found[0] ?? null, thought: 'I have checked this player.' };
  }
  if (action === 'vote') {
    const target = mostFrequent(accused.filter((name) => strangers.includes(name))) ?? guess;
    return { target, thought: 'I follow the accusations.' };
  }
  if (action === 'accuse' && !isWolf) return { target: null, thought: 'I have no information.' };
  return { target: guess, thought: isWolf ? 'I am a wolf, and hide it.' : 'I have to guess.' };
}

/** A number in `[0, count)` that depends on the prompt only. */
function pickIndex(prompt: string, count: number): number {
  return count === 0 ? 0 : createHash('sha256').update(prompt).digest().readUInt32BE() % count;
}

function mostFrequent(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}
