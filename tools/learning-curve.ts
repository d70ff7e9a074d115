/**
 * Draws the learning curve of a run: `agl train --json > run.jsonl`, then `node tools/learning-curve.ts run.jsonl > curve.svg`. Grey is
 * the reward of each training step, or of each version of a prompt search; blue are the held-out evaluations with their 95 % intervals,
 * or the best version so far.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const eventSchema = z.looseObject({
  event: z.string(),
  step: z.number().optional(),
  phase: z.string().optional(),
  reward: z.number().nullish(),
  ci95: z.tuple([z.number(), z.number()]).nullish(),
  score: z.number().nullish(),
  best_score: z.number().nullish(),
});

type Event = z.infer<typeof eventSchema>;

interface Point {
  readonly x: number;
  readonly y: number;
  readonly interval?: readonly [low: number, high: number];
}

/** The two lines of a chart. */
interface Curve {
  readonly label: string;
  readonly grey: readonly Point[];
  readonly blue: readonly Point[];
}

const [width, height, left, right, top, bottom] = [640, 300, 46, 12, 16, 36];

function readEvents(file: string): Event[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => eventSchema.parse(JSON.parse(line)));
}

function curveOf(events: readonly Event[]): Curve {
  const versions = events.filter(({ event }) => event === 'prompts');
  if (versions.length > 0) {
    const line = (key: 'score' | 'best_score'): Point[] => versions.map((event, x) => ({ x, y: event[key] ?? 0 }));
    return { label: 'prompt version', grey: line('score'), blue: line('best_score') };
  }
  const points = (name: string): Point[] =>
    events
      .filter(({ event, step, reward }) => event === name && step !== undefined && typeof reward === 'number')
      .map(({ step = 0, reward, ci95 }) => ({ x: step, y: reward ?? 0, ...(ci95 && { interval: ci95 }) }));
  return { label: 'training step', grey: points('step'), blue: points('evaluated') };
}

function draw({ label, grey, blue }: Curve): string {
  const all = [...grey, ...blue];
  const maxX = Math.max(1, ...all.map(({ x }) => x));
  const [low, high] = [Math.min(0, ...all.map(({ y }) => y)), Math.max(1, ...all.map(({ y }) => y))];
  const xOf = (x: number): string => (left + (x / maxX) * (width - left - right)).toFixed(1);
  const yOf = (y: number): string => (top + ((high - y) / (high - low)) * (height - top - bottom)).toFixed(1);
  const path = (points: readonly Point[]): string => points.map(({ x, y }) => `${xOf(x)},${yOf(y)}`).join(' ');
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * maxX));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="Reward by ${label}">`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...ticks.map(
      (y) =>
        `<line x1="${left}" x2="${width - right}" y1="${yOf(y)}" y2="${yOf(y)}" stroke="#ddd"/><text x="${left - 8}" y="${yOf(y)}" dy="4" text-anchor="end">${Number(y.toFixed(2))}</text>`,
    ),
    ...[...new Set(steps)].map((x) => `<text x="${xOf(x)}" y="${height - 18}" text-anchor="middle">${x}</text>`),
    `<text x="${width / 2}" y="${height - 4}" text-anchor="middle">${label}</text>`,
    `<polyline fill="none" stroke="#999" stroke-width="1.5" points="${path(grey)}"/>`,
    `<polyline fill="none" stroke="#06c" stroke-width="2" points="${path(blue)}"/>`,
    ...blue.map(({ x, y, interval: [from, to] = [y, y] }) => {
      const bar = `<line x1="${xOf(x)}" x2="${xOf(x)}" y1="${yOf(from)}" y2="${yOf(to)}" stroke="#06c"/>`;
      return `${bar}<circle cx="${xOf(x)}" cy="${yOf(y)}" r="3" fill="#06c"/>`;
    }),
    '</svg>',
  ].join('\n');
}

process.stdout.write(`${draw(curveOf(readEvents(process.argv[2] ?? '/dev/stdin')))}\n`);
