import { describe, expect, it } from 'vitest';
import { operationalMetrics } from './operational-metrics.ts';
import { runMetrics } from './run-metric-catalogue.ts';
import { allRunMetrics, familyMetric, familyPart, findRunMetric, isMetricOf, metricGroups } from './run-metrics.ts';

describe('the catalogue of metrics', () => {
  it('has each name once, in a group with a title', () => {
    const names = [...allRunMetrics(), ...Object.values(operationalMetrics)].map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
    const groups = new Set(allRunMetrics().map(({ name }) => name.split('/')[0]));
    expect([...groups].toSorted()).toEqual(Object.keys(metricGroups).toSorted());
  });

  it('finds metrics, members of families, and both of a named policy', () => {
    expect(findRunMetric('policy/entropy')).toBe(runMetrics.policyEntropy);
    expect(findRunMetric('writer/policy/entropy')).toBe(runMetrics.policyEntropy);
    expect(findRunMetric('reward/a/b/mean')).toBe(runMetrics.rewardPartMean);
    expect(findRunMetric('writer/calls/untrainable/partial')).toBe(runMetrics.callsUntrainableBy);
    expect(findRunMetric('failures/agent_share')).toBe(runMetrics.failuresAgentShare);
    expect(findRunMetric('reward//mean')).toBeNull();
    expect(findRunMetric('made/up')).toBeNull();
  });

  it('converts between members of families and their parts', () => {
    expect(familyMetric(runMetrics.rewardPartStd, '$&')).toBe('reward/$&/std');
    expect(familyPart(runMetrics.rewardPartStd, 'reward/$&/std')).toBe('$&');
    expect(familyPart(runMetrics.rewardPartStd, 'reward/std')).toBeNull();
  });

  it('distinguishes a metric of a policy from one that ends in the same way', () => {
    expect(isMetricOf(runMetrics.tokensTrained, 'writer/tokens/trained')).toBe(true);
    expect(isMetricOf(runMetrics.tokensTrained, 'untokens/trained')).toBe(false);
  });
});
