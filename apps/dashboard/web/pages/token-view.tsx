import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { CallTokens, RolloutDetail, TokenChoice } from '../../src/api/rollout-views.ts';
import { numberText } from '../data/format.ts';
import { tokensQuery } from '../data/queries.ts';
import { CallSelect } from '../parts/call-select.tsx';
import { QueryView } from '../parts/notice.tsx';

const route = getRouteApi('/rollouts/$rolloutId');

/** Number of tokens that are added to the page at a time. */
const pageSize = 4000;

/** The tokens of a model call, coloured by log-probability or training mask. */
export function TokenView({ detail }: { readonly detail: RolloutDetail }): ReactNode {
  return (
    <CallSelect detail={detail}>
      {({ spanId }, attemptId) => (
        <CallTokensView key={spanId} address={{ rolloutId: detail.rollout.rolloutId, attemptId, spanId }} />
      )}
    </CallSelect>
  );
}

function CallTokensView(props: { readonly address: Parameters<typeof tokensQuery>[0] }): ReactNode {
  const { address } = props;
  const search = route.useSearch();
  const navigate = useNavigate();
  const { rolloutId } = address;
  const color = search.color ?? 'logprob';
  const query = useQuery(tokensQuery(address));
  const colorBy = (next: 'logprob' | 'mask'): void =>
    void navigate({
      to: '/rollouts/$rolloutId',
      params: { rolloutId },
      search: { ...search, color: next },
      replace: true,
      resetScroll: false,
    });
  return (
    <QueryView query={query}>
      {(tokens) => (
        <section className="panel" aria-labelledby="tokens-title">
          <h2 id="tokens-title">Tokens</h2>
          <p>
            Colour:{' '}
            <button type="button" aria-pressed={color === 'logprob'} onClick={() => colorBy('logprob')}>
              Log-probability
            </button>{' '}
            <button type="button" aria-pressed={color === 'mask'} onClick={() => colorBy('mask')}>
              Training mask
            </button>
          </p>
          <p className="muted">{factsOf(tokens)}</p>
          <PromptTokens tokens={tokens} />
          {tokens.choices.map((choice) => (
            <ChoiceTokens key={choice.index} tokens={tokens} choice={choice} color={color} />
          ))}
        </section>
      )}
    </QueryView>
  );
}

function factsOf({ temperature, policyVersion, isTrainable, untrainableReason }: CallTokens): string {
  return [
    `temperature ${numberText(temperature)}`,
    policyVersion === null ? 'policy version unknown' : `policy version ${policyVersion}`,
    isTrainable
      ? 'response tokens are trained'
      : `excluded from training: ${untrainableReason ?? 'no reason recorded'}`,
  ].join(', ');
}

function PromptTokens({ tokens: { promptTokenIds } }: { readonly tokens: CallTokens }): ReactNode {
  return (
    <details>
      <summary>{`Prompt: ${promptTokenIds.length} tokens, not trained`}</summary>
      <p className="mono">{promptTokenIds.slice(0, pageSize).join(' ')}</p>
    </details>
  );
}

function ChoiceTokens(props: {
  readonly tokens: CallTokens;
  readonly choice: TokenChoice;
  readonly color: 'logprob' | 'mask';
}): ReactNode {
  const { tokens, choice, color } = props;
  const [shown, setShown] = useState(pageSize);
  const { tokenIds, logprobs, finishReason, index } = choice;
  const mean = logprobs.length === 0 ? null : logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length;
  return (
    <>
      <h3>
        {tokens.choices.length === 1 ? 'Response' : `Response ${index + 1}`}
        <span className="muted">
          {` ${tokenIds.length} tokens, mean log-probability ${numberText(mean)}, finish reason ${finishReason ?? 'unknown'}`}
        </span>
      </h3>
      <p className="tokens" data-color={color}>
        {tokenIds.slice(0, shown).map((tokenId, position) => {
          const logprob = logprobs[position];
          const text = index === 0 ? tokens.texts?.[position] : undefined;
          return (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a recorded call do not change
              key={position}
              className="token foreign"
              data-level={color === 'mask' ? maskLevel(tokens) : logprobLevel(logprob)}
              title={`token ${position + 1}, id ${tokenId}${logprob === undefined ? '' : `, log-probability ${logprob.toFixed(3)}, probability ${(Math.exp(logprob) * 100).toFixed(1)} %`}`}
            >
              {text ?? tokenId}
            </span>
          );
        })}
      </p>
      {tokenIds.length > shown ? (
        <button type="button" onClick={() => setShown(shown + pageSize)}>
          {`Show more (${tokenIds.length - shown} tokens)`}
        </button>
      ) : null}
      <Legend color={color} />
    </>
  );
}

function maskLevel({ isTrainable }: CallTokens): string {
  return isTrainable ? 'trained' : 'masked';
}

/** 0 for a likely token to 4 for a very unlikely one; by probability 80, 50, 20 and 5 %. */
function logprobLevel(logprob: number | undefined): string {
  if (logprob === undefined) return 'unknown';
  const probability = Math.exp(logprob);
  return String([0.8, 0.5, 0.2, 0.05].filter((limit) => probability < limit).length);
}

function Legend({ color }: { readonly color: 'logprob' | 'mask' }): ReactNode {
  const entries =
    color === 'mask'
      ? ([
          ['trained', 'trained'],
          ['masked', 'not trained'],
        ] as const)
      : ([
          ['0', 'probability ≥ 80 %'],
          ['1', '≥ 50 %'],
          ['2', '≥ 20 %'],
          ['3', '≥ 5 %'],
          ['4', '< 5 %'],
        ] as const);
  return (
    <p className="legend">
      {entries.map(([level, label]) => (
        <span key={level} className="token" data-level={level}>
          {label}
        </span>
      ))}
    </p>
  );
}
