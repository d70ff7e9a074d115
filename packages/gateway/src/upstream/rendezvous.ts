import { createHash } from 'node:crypto';

/** A choice among candidates, with what is computed of its name once. */
export interface Candidate {
  /** 32 bits of the candidate's id. */
  readonly seed: number;
}

/** 32 bits of a text, spread evenly. */
export function seedOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/**
 * Candidates in the order in which a key prefers them, by rendezvous hashing: each pair of key and candidate has a
 * score, and the highest is first. When a candidate goes, only the keys that preferred it move, each to its next one;
 * when one comes, it takes an even share of the keys and moves no other.
 */
export function rankFor<TCandidate extends Candidate>(key: string, candidates: readonly TCandidate[]): TCandidate[] {
  if (candidates.length < 2) return [...candidates];
  const keySeed = seedOf(key);
  return candidates
    .map((candidate) => ({ candidate, score: mix(keySeed ^ candidate.seed) }))
    .sort((left, right) => right.score - left.score || right.candidate.seed - left.candidate.seed)
    .map(({ candidate }) => candidate);
}

/** The finalizer of MurmurHash3: every bit of the input changes every bit of the outcome half of the time. */
function mix(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
