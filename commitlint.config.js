/** Rules for commit messages: Conventional Commits with a header of at most 72 characters. */
export default {
  extends: ['@commitlint/config-conventional'],
  rules: { 'header-max-length': [2, 'always', 72], 'body-max-line-length': [0], 'footer-max-line-length': [0] },
};
