/** One convention that no other tool checks. */
export interface Convention {
  /** The rule, as a sentence. */
  readonly name: string;
  /** The violations, one line each, starting with the file. */
  readonly findProblems: () => readonly string[];
}
