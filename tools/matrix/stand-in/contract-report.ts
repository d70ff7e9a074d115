/** What came of the tests of a program. */
export interface ContractReport {
  /** Names of tests that passed. */
  readonly passed: string[];
  readonly failed: { readonly name: string; readonly reason: string }[];
  /** What the adapter or its framework cannot do, in that version. */
  readonly skipped: { readonly name: string; readonly reason: string }[];
}
