import type { Random } from '../src/random.ts';

const consonants = [
  'b',
  'c',
  'd',
  'f',
  'g',
  'h',
  'j',
  'k',
  'l',
  'm',
  'n',
  'p',
  'q',
  'r',
  's',
  't',
  'v',
  'w',
  'x',
  'z',
  'st',
  'th',
  'tr',
  'ch',
  'sh',
];
const vowels = ['a', 'e', 'i', 'o', 'u', 'y', 'ea', 'ou', 'ie', 'oo'];
const connectors = [' of ', ' the ', ' and ', ' & ', ' in ', ': ', '-', ' '];

/** One of the choices. */
export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random.nextInteger(choices.length)] as T;
}

/** Whether an event of this probability happens. */
export function chance(random: Random, probability: number): boolean {
  return random.nextUniform() < probability;
}

/** A word of one to four syllables in lower case: `thoumak`. */
function drawWord(random: Random): string {
  const syllables = 1 + random.nextInteger(3) + (chance(random, 0.2) ? 1 : 0);
  const word = Array.from({ length: syllables }, () => {
    const start = chance(random, 0.85) ? pick(random, consonants) : '';
    const end = chance(random, 0.4) ? pick(random, consonants) : '';
    return start + pick(random, vowels) + end;
  }).join('');
  return word.slice(0, 10);
}

/** Words in lower case, the first of them capitalised: `Foup ri thoumak`. */
export function drawWords(random: Random, count: number): string {
  const words = Array.from({ length: count }, () => drawWord(random)).join(' ');
  return chance(random, 0.8) ? capitalised(words) : words;
}

/** A name of one to three words: `Stoum of Ri`, or a code: `K17`. */
export function drawName(random: Random): string {
  if (chance(random, 0.15)) return String.fromCharCode(65 + random.nextInteger(26)) + random.nextInteger(100);
  const words = 1 + (chance(random, 0.45) ? 1 : 0) + (chance(random, 0.15) ? 1 : 0);
  let name = capitalised(drawWord(random));
  for (let index = 1; index < words; index++) name += pick(random, connectors) + capitalised(drawWord(random));
  return name;
}

/** A name in a program: `thou`, `k`, `ri_max`. */
export function drawIdentifier(random: Random): string {
  if (chance(random, 0.1)) return pick(random, consonants).slice(0, 1);
  const word = drawWord(random).slice(0, 6);
  return chance(random, 0.1) ? `${word}_${drawWord(random).slice(0, 4)}` : word;
}

/** A number of up to five digits, sometimes with decimals. */
export function drawNumber(random: Random): string {
  const whole = String(random.nextInteger(10 ** (1 + random.nextInteger(5))));
  return chance(random, 0.15) ? `${whole}.${random.nextInteger(100)}` : whole;
}

function capitalised(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
