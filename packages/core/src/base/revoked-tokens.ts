/** The revoked attempt tokens of a store. */
export interface RevokedTokens {
  /**
   * Revokes one attempt token; store servers and gateways refuse it within five seconds. VALIDATION for a text that has
   * not the form of a token.
   */
  revokeAttemptToken(token: string): Promise<void>;
  /** SHA-256 digests, in hex digits, of the revoked attempt tokens that have not expired. */
  revokedAttemptTokens(): Promise<readonly string[]>;
}
