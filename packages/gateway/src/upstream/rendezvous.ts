import { createHash } from 'node:crypto';

/** A candidate and the precomputed hash of its id. */
export interface Candidate {
  /** 32 bits of the candidate's id. */
  readonly seed: number;
}

/** 32-bit hash of a text. */
export function seedOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/**
 * Candidates by a key's preference (rendezvous hashing): each pair of key and candidate has a score, highest first. When
 * a candidate is removed, only the keys that preferred it move, each to its next one; an added one takes an even share
 * of the keys and moves no other.
 */
export function rankFor<TCandidate extends Candidate>(key: string, candidates: readonly TCandidate[]): TCandidate[] {
  if (candidates.length < 2) return [...candidates];
  const keySeed = seedOf(key);
  return candidates
    .map((candidate) => ({ candidate, score: mix(keySeed ^ candidate.seed) }))
    .sort((left, right) => right.score - left.score || right.candidate.seed - left.candidate.seed)
    .map(({ candidate }) => candidate);
}

/** The finalizer of MurmurHash3: every input bit flips every output bit with probability 1/2. */
function mix(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
