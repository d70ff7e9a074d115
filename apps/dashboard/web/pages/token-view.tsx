import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { Fragment, type ReactNode, useState } from 'react';
import type { CallTokens, CallTrainingView, RolloutDetail, TokenChoice } from '../../src/api/rollout-views.ts';
import { numberText } from '../data/format.ts';
import { tokensQuery } from '../data/queries.ts';
import {
  advantageOf,
  exclusionText,
  lastTraining,
  legendOf,
  logprobGap,
  policyVersionsOf,
  policyVersionText,
  tokenLevel,
} from '../data/token-levels.ts';
import { CallSelect } from '../parts/call-select.tsx';
import { QueryView } from '../parts/notice.tsx';
import { type TokenColor, tokenColors } from '../rollout-views.ts';

const route = getRouteApi('/rollouts/$rolloutId');

/** Number of tokens that are added to the page at a time. */
const pageSize = 4000;

const colorLabels: Readonly<Record<TokenColor, string>> = {
  logprob: 'Log-probability',
  advantage: 'Advantage',
  mask: 'Training mask',
  gap: 'Log-probability gap',
  ratio: 'Probability ratio',
  version: 'Policy version',
};

/** The tokens of a model call, coloured by what training knows of them. */
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
  const colorBy = (next: TokenColor): void =>
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
            {tokenColors.map((each) => (
              <Fragment key={each}>
                <button type="button" aria-pressed={color === each} onClick={() => colorBy(each)}>
                  {colorLabels[each]}
                </button>{' '}
              </Fragment>
            ))}
          </p>
          <p className="muted">{factsOf(tokens)}</p>
          {tokens.training.map((each) => (
            <p key={`${each.step}/${each.policy}`} className="muted">
              {trainingText(each)}
            </p>
          ))}
          {(color === 'gap' || color === 'ratio') && lastTraining(tokens)?.trainerLogprobs == null ? (
            <p className="notice">
              No step scored these tokens under its weights. Set <code>samplerCorrection</code> of the algorithm: its
              steps record the log-probabilities of the tokens that they train on.
            </p>
          ) : null}
          <PromptTokens tokens={tokens} />
          {tokens.choices.map((choice) => (
            <ChoiceTokens key={choice.index} tokens={tokens} choice={choice} color={color} />
          ))}
        </section>
      )}
    </QueryView>
  );
}

function factsOf(tokens: CallTokens): string {
  const { temperature, isTrainable, untrainableReason } = tokens;
  const versions = policyVersionsOf(tokens);
  return [
    `temperature ${numberText(temperature)}`,
    policyVersionText(versions[0] ?? null, versions.at(-1) ?? null),
    isTrainable
      ? 'response tokens can be trained on'
      : `excluded from training: ${untrainableReason ?? 'no reason recorded'}`,
  ].join(', ');
}

function trainingText(training: CallTrainingView): string {
  const { step, policy, advantage, tokenAdvantages, exclusion } = training;
  const subject = `Step ${step}${policy === null ? '' : ` of policy ${policy}`}`;
  if (exclusion !== null) return `${subject} did not train on it: ${exclusionText(training)}.`;
  const kind = tokenAdvantages === null ? 'advantage' : 'mean advantage';
  return `${subject} trained on it with the ${kind} ${numberText(advantage)}.`;
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
  readonly color: TokenColor;
}): ReactNode {
  const { tokens, choice, color } = props;
  const training = lastTraining(tokens);
  const [shown, setShown] = useState(pageSize);
  const { tokenIds, logprobs, policyVersions, finishReason, index } = choice;
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
          const policyVersion = policyVersions?.[position] ?? tokens.policyVersion;
          const token = { position, logprob: logprobs[position], policyVersion };
          const text = index === 0 ? tokens.texts?.[position] : undefined;
          return (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a recorded call do not change
              key={position}
              className="token foreign"
              data-level={tokenLevel(color, tokens, token)}
              title={`token ${position + 1}, id ${tokenId}${logprobText(token.logprob)}${advantageText(training, position)}${gapText(logprobGap(training, token))}`}
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
      <Legend color={color} tokens={tokens} />
    </>
  );
}

function logprobText(logprob: number | undefined): string {
  if (logprob === undefined) return '';
  return `, log-probability ${logprob.toFixed(3)}, probability ${(Math.exp(logprob) * 100).toFixed(1)} %`;
}

function advantageText(training: CallTrainingView | null, position: number): string {
  if (training === null) return '';
  const advantage = advantageOf(training, position);
  return advantage === null ? `, not trained: ${exclusionText(training)}` : `, advantage ${numberText(advantage)}`;
}

function gapText(gap: number | null): string {
  return gap === null ? '' : `, gap ${gap.toFixed(3)} nats, ratio ${Math.exp(gap).toFixed(3)}`;
}

function Legend({ color, tokens }: { readonly color: TokenColor; readonly tokens: CallTokens }): ReactNode {
  return (
    <p className="legend">
      {legendOf(color, tokens).map(([level, label]) => (
        <span key={level} className="token" data-level={level}>
          {label}
        </span>
      ))}
    </p>
  );
}
