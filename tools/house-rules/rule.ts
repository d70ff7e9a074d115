/** One rule of the house that no other tool checks. */
export interface HouseRule {
  /** The rule, as a sentence. */
  readonly name: string;
  /** Where it is broken: one line each, starting with the file. None means kept. */
  readonly findProblems: () => readonly string[];
}
