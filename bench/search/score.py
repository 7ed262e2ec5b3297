#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""score.py - score autotuner search traces on recorded (brute-forced) tuning spaces.

Re-implements the AutoTuningAssociation "autotuning_methodology" score (baseline = calculated random
search = 0, optimum = 1) from public definitions, on two budget axes: recorded time and evaluations.
Needs numpy and scipy only (sklearn only for --faithful): Debian: python3-numpy, python3-scipy.

USAGE
  score.py stats  SPACE.csv.gz [...]              table of the recorded spaces
  score.py score  --spaces DIR TRACES.jsonl[.gz] [...]   score search traces
  score.py random --spaces DIR SPACE [...] [-n RUNS]     self-check: simulated random search must give ~0
  options of score/random: --axis time|evals|both (default both)  --boot 300  --json OUT.json
     --by-space (print every space, not only the aggregate)   --faithful (bagged isotonic regression, as upstream)

SPACE FILE (csv.gz): line 1 '#'+JSON header (name, kernel, gpu, params, size, source, license), line 2 column
  names, then one line per recorded configuration, row index 0..N-1:
  <param values...>,status,time_ms,std_ms,compile_ms,bench_ms,other_ms      status: ok|compile|runtime|invalid
  Kernel Tuner cache files (.json/.json.gz) are read too.
TRACE FILE: JSON lines {"space":name,"strategy":name,"run":k,"evals":[row index or "v1,v2,..." key, ...]}
  evals in the order they were evaluated; only the order counts: values and costs are looked up in the
  recorded space (the first evaluation of a row costs, a repeat is free). Optional "overhead_ms": CPU time
  of the search itself per evaluation, added to the time axis.

DEFINITIONS (c = 0.95 end, 0.01 start; lower value = better)
  V = recorded valid values sorted worst->best, Nv=|V|, opt=V[-1], med=median(V); N = all records incl. failed
  target(c) = opt + (med-opt)*(1-c);  i(c) = number of V > target(c);  fe(c) = ceil(i/(Nv+1-i))
  cost of a record = compile+bench+other (failed ones too)
  TIME axis:  grid = 1000 points, linspace(fe(.01)*median_cost, fe(.95)*median_cost)
     baseline(t): M = round(max(1, t/cbar)), cbar = mean cost of valid + (fraction failed)*mean cost of failed
                  index = min(Nv-1, round(M*(Nv+1)/(M+1))), value V[index], PCHIP-smoothed (as upstream)
  EVALS axis: same on the N records, failed ones ranked worst; k = Nv-i(.95); grid = 1..ceil((N-k)/(k+1));
     baseline(m) = value at index round(m*(N+1)/(m+1))-1 (0-based; upstream omits the -1, which biases its
     baseline one rank too good: random search scores about -0.05 on its time axis, ~0.00 on this axis)
  curve F(x) = value at the rounded MEAN RANK (over the runs) of the best-so-far at x (not the mean value)
  score = mean over the grid of (B(x)-F(x))/(B(x)-opt); over several spaces: mean of the per-space scores.
  CI: percentile bootstrap over the runs.
"""
import argparse, gzip, json, math, os, sys
import numpy as np

CUT, START, RES = 0.95, 0.01, 1000


class Space:
    def __init__(self, path):
        op = gzip.open if path.endswith('.gz') else open
        self.path = path
        with op(path, 'rt') as f:
            text = f.read()
        if path.replace('.gz', '').endswith('.json'):
            for tail in ('', '}\n}'):                       # Kernel Tuner leaves the closing braces out of open caches
                try:
                    d = json.loads(text if not tail else text.rstrip().rstrip(',') + tail)
                    break
                except ValueError:
                    d = None
            self._from_kt(d or json.loads(text[:-1] + '}\n}'))
        else:
            lines = text.rstrip('\n').split('\n')
            h = json.loads(lines[0][1:])
            self.name, self.head = h['name'], h
            np_ = len(h['params'])
            self.keys = []
            val, cost, st, sd = [], [], [], []
            for l in lines[2:]:
                c = l.split(',')
                self.keys.append(','.join(c[:np_]))
                st.append(c[np_])
                val.append(float(c[np_ + 1]) if c[np_] == 'ok' else math.nan)
                sd.append(float(c[np_ + 2]) if c[np_ + 2] else math.nan)
                cost.append(sum(float(x) for x in c[np_ + 3:np_ + 6]))
            self.status, self.std = st, np.array(sd)
            self.val, self.cost = np.array(val), np.array(cost)
        self._prep()

    def _from_kt(self, d):
        self.name = os.path.basename(self.path).split('.')[0]
        self.head = dict(name=self.name, params=d['tune_params'], gpu=d.get('device_name'), kernel=d.get('kernel_name'))
        self.keys, val, cost = [], [], []
        for k, r in d['cache'].items():
            t = r.get('time')
            ok = isinstance(t, (int, float)) and math.isfinite(t) and t < 1e19
            self.keys.append(k)
            val.append(t if ok else math.nan)
            cost.append(sum(r.get(x) or 0 for x in ('compile_time', 'benchmark_time', 'verification_time', 'framework_time')))
        self.val, self.cost = np.array(val, float), np.array(cost, float)
        self.status = ['ok' if math.isfinite(v) else 'invalid' for v in self.val]
        self.std = np.full(len(self.val), math.nan)

    def _prep(self):
        self.index = {k: i for i, k in enumerate(self.keys)}
        ok = np.isfinite(self.val)
        self.N, self.Nv = len(self.val), int(ok.sum())
        self.Ninv = self.N - self.Nv
        self.V = np.sort(self.val[ok])[::-1].copy()             # worst -> best
        self.opt, self.med = self.V[-1], float(np.median(self.V))
        # rank (index in V, worst->best) of each record; ties take the best rank's first index; failed = nan
        asc = self.V[::-1]
        r = np.full(self.N, np.nan)
        r[ok] = self.Nv - 1 - np.searchsorted(asc, self.val[ok], side='left')
        self.rank = r
        self.med_cost = float(np.median(self.cost))
        self.cbar = float(self.cost[ok].mean()) + (0 if self.Ninv == 0 else self.Ninv / self.N * float(self.cost[~ok].mean()))
        i0, i1 = self.nworse(START), self.nworse(CUT)
        if i1 >= self.Nv - 1 and self.Nv > 1:                   # only the optimum passes: step back one (upstream does)
            i1 = self.Nv - 2
        self.fe0, self.fe1 = math.ceil(i0 / (self.Nv + 1 - i0)), math.ceil(i1 / (self.Nv + 1 - i1))
        self.k = self.Nv - i1
        self.T0, self.T1 = self.fe0 * self.med_cost, self.fe1 * self.med_cost
        self.tgrid = np.linspace(self.T0, self.T1, RES)
        self.tbase = self._tbaseline(self.tgrid)
        self.E = max(2, math.ceil((self.N - self.k) / (self.k + 1)))
        m = np.arange(1, self.E + 1)
        idx = np.clip(np.rint(m * (self.N + 1) / (m + 1)).astype(int) - 1, 0, self.N - 1)
        self.ebase = self.V[np.maximum(idx - self.Ninv, 0)]

    def target(self, c):
        return self.opt + (self.med - self.opt) * (1 - c)

    def nworse(self, c):
        return int((self.V > self.target(c)).sum())

    def _tbaseline(self, t):
        from scipy.interpolate import PchipInterpolator
        M = np.rint(np.maximum(t / self.cbar, 1)).astype(int)
        b = self.V[np.minimum(self.Nv - 1, np.rint(M * (self.Nv + 1) / (M + 1)).astype(int))]
        x, first = np.unique(M, return_index=True)
        if len(x) < 2:
            return b
        return PchipInterpolator(x, b[first])(np.linspace(M[0], M[-1], len(M)))

    def within(self, f):
        return int((self.V <= self.opt * (1 + f)).sum())

    def rand_expect(self, f):                                   # expected draws (no replacement) to hit within f
        return (self.N + 1) / (self.within(f) + 1)

    def rand_median(self, f):                                   # median draws
        k, p, m = self.within(f), 1.0, 0
        while p > 0.5 and m < self.N:
            p *= max(0, self.N - k - m) / (self.N - m)
            m += 1
        return m

    # ---- traces -> per-run step curves on both grids
    def rows(self, evals):
        out, seen = [], set()
        for e in evals:
            r = self.index[e] if isinstance(e, str) else int(e)
            if r not in seen:
                seen.add(r)
                out.append(r)
        return np.array(out, int)

    def run_curves(self, evals, overhead=0.0):
        rows = self.rows(evals)
        rk = np.where(np.isnan(self.rank[rows]), -np.inf, self.rank[rows])
        best = np.maximum.accumulate(rk)
        # evaluation axis: failed/nothing yet -> middle of the failed ranks
        e = np.empty(self.E)
        n = min(self.E, len(best))
        e[:n] = best[:n]
        e[n:] = best[n - 1] if n else -np.inf
        e = np.where(np.isneginf(e), (self.Ninv - 1) / 2 - self.Ninv, e) + self.Ninv
        tc = np.cumsum(self.cost[rows] + overhead)
        j = np.searchsorted(tc, self.tgrid, side='right') - 1
        t = np.where(j >= 0, best[np.maximum(j, 0)], -np.inf)
        t = np.where(np.isneginf(t), np.nan, t)
        if np.isnan(t).all():                                   # nothing valid within budget
            t[:] = 0.0
        return e, t, rows, best, tc

    def score_e(self, er):
        m = np.rint(er.mean(axis=0)).astype(int)
        return self._std(self.ebase, self.V[np.clip(m - self.Ninv, 0, self.Nv - 1)])

    def score_t(self, tr):
        cnt = (~np.isnan(tr)).sum(axis=0)
        s = np.nansum(tr, axis=0)
        m = np.where(cnt > 0, s / np.maximum(cnt, 1), np.nan)
        ok = np.nonzero(~np.isnan(m))[0]
        m[:ok[0]] = m[ok[0]]
        m = np.rint(m).astype(int)
        return self._std(self.tbase, self.V[np.clip(m, 0, self.Nv - 1)])

    def _std(self, B, F):
        d = B - self.opt
        return np.where(d > 0, (B - F) / np.where(d > 0, d, 1), np.where(F <= self.opt, 0.0, -1.0))

    def faithful_t(self, runs, seed=0):
        """upstream estimator: bagged isotonic regression of rank on time over all pooled points."""
        from sklearn.ensemble import BaggingRegressor
        from sklearn.isotonic import IsotonicRegression
        X, Y = [], []
        for rows, best, tc in runs:
            m = ~np.isneginf(best) & (tc >= 0.9 * self.T0) & (tc <= 1.1 * self.T1)
            X.append(tc[m]); Y.append(best[m])
        X, Y = np.concatenate(X), np.concatenate(Y)
        n = max(3, len(runs))
        br = BaggingRegressor(IsotonicRegression(y_min=Y.min(), y_max=Y.max(), out_of_bounds='clip'),
                              n_estimators=n, max_samples=1 / math.sqrt(n), bootstrap=True, random_state=seed)
        br.fit(X.reshape(-1, 1), Y)
        p = np.clip(np.rint(br.predict(self.tgrid.reshape(-1, 1))).astype(int), 0, self.Nv - 1)
        F = self.V[p]
        stop = float(np.median([tc[-1] for _, _, tc in runs]))
        if stop < self.tgrid[-1]:
            s = int(np.nonzero(self.tgrid > stop)[0][0]); F[s:] = F[s]
        return self._std(self.tbase, F)


def evaluate(sp, runs, boot=300, faithful=False, seed=1):
    """runs: list of (evals, overhead). -> dict with scores, CIs, evals-to-within medians."""
    E, T, raw = [], [], []
    for ev, oh in runs:
        e, t, rows, best, tc = sp.run_curves(ev, oh)
        E.append(e); T.append(t); raw.append((rows, best, tc))
    E, T = np.array(E), np.array(T)
    rng = np.random.default_rng(seed)
    pick = [rng.integers(0, len(runs), len(runs)) for _ in range(boot)]
    out = dict(runs=len(runs), evals=float(sp.score_e(E).mean()), time=float(sp.score_t(T).mean()),
               final_evals=float(sp.score_e(E)[-1]))
    out['evals_b'] = np.array([sp.score_e(E[p]).mean() for p in pick])
    out['time_b'] = np.array([sp.score_t(T[p]).mean() for p in pick])
    if faithful:
        out['time_faithful'] = float(sp.faithful_t(raw).mean())
    for f, nm in ((0.05, 'to5'), (0.01, 'to1')):
        lim = sp.opt * (1 + f)
        h = []
        for rows, best, tc in raw:
            good = np.nonzero(sp.val[rows] <= lim)[0]
            h.append(good[0] + 1 if len(good) else np.inf)
        out[nm] = float(np.median(h)); out[nm + '_hit'] = float(np.mean(np.isfinite(h)))
    out['len'] = float(np.median([len(r[0]) for r in raw]))
    return out


def ci(b):
    return [float(x) for x in np.percentile(b, [2.5, 97.5])]


def find_space(d, name):
    for ext in ('.csv.gz', '.csv', '.json.gz', '.json'):
        p = os.path.join(d, name + ext)
        if os.path.exists(p):
            return p
    raise SystemExit(f'space {name} not found in {d}')


def read_traces(files):
    tr = {}
    for f in files:
        op = gzip.open if f.endswith('.gz') else open
        with op(f, 'rt') as g:
            for l in g:
                if l.strip():
                    r = json.loads(l)
                    tr.setdefault(r['strategy'], {}).setdefault(r['space'], []).append((r['evals'], r.get('overhead_ms', 0.0)))
    return tr


def report(tr, spdir, a):
    spaces, res = {}, {}
    for s in tr:
        for n in tr[s]:
            if n not in spaces:
                spaces[n] = Space(find_space(spdir, n))
    for s in tr:
        res[s] = {n: evaluate(spaces[n], tr[s][n], a.boot, a.faithful) for n in sorted(tr[s])}
    axes = ['time', 'evals'] if a.axis == 'both' else [a.axis]
    names = sorted(spaces)
    agg = {}
    for s in res:
        agg[s] = {}
        for ax in axes:
            v = [res[s][n][ax] for n in res[s]]
            b = np.mean([res[s][n][ax + '_b'] for n in res[s]], axis=0)
            agg[s][ax] = (float(np.mean(v)), *ci(b))
    order = sorted(res, key=lambda s: -agg[s][axes[0]][0])
    print('strategy'.ljust(24) + 'spaces ' + ''.join(f'{ax:>8} [95% CI]         ' for ax in axes))
    for s in order:
        print(s.ljust(24) + f'{len(res[s]):6d} ' + ''.join('%8.3f [%6.3f,%6.3f]  ' % agg[s][ax] for ax in axes))
    if a.by_space:
        for ax in axes:
            print(f'\n{ax} axis, per space (score [95% CI])\n' + 'strategy'.ljust(24) + ''.join(f'{n:>24}' for n in names))
            for s in order:
                print(s.ljust(24) + ''.join(('%8.3f [%6.3f,%6.3f]' % (res[s][n][ax], *ci(res[s][n][ax + "_b"]))).rjust(24) if n in res[s] else '-'.rjust(24) for n in names))
        for nm, f in (('to5', .05), ('to1', .01)):
            print(f'\nmedian evaluations to come within {f:.0%} of the optimum (share of runs that did)\n' + 'strategy'.ljust(24) + ''.join(f'{n:>20}' for n in names))
            print('random: expected'.ljust(24) + ''.join(f'{spaces[n].rand_expect(f):.0f}'.rjust(20) for n in names))
            print('random: median'.ljust(24) + ''.join(f'{spaces[n].rand_median(f):.0f}'.rjust(20) for n in names))
            for s in order:
                def cell(n):
                    r = res[s].get(n)
                    if not r: return '-'
                    m = f'{r[nm]:.0f}' if math.isfinite(r[nm]) else f'>{r["len"]:.0f}'
                    return f'{m} ({r[nm + "_hit"]:.0%})'
                print(s.ljust(24) + ''.join(cell(n).rjust(20) for n in names))
    if a.faithful:
        print('\nupstream estimator (bagged isotonic), time axis')
        for s in order:
            print(s.ljust(24), *(f'{n}={res[s][n]["time_faithful"]:.3f}/{res[s][n]["time"]:.3f}' for n in res[s]))
    if a.json:
        for s in res:
            for n in res[s]:
                for ax in ('time', 'evals'):
                    res[s][n][ax + '_ci'] = ci(res[s][n].pop(ax + '_b'))
        json.dump(dict(aggregate=agg, spaces=res), open(a.json, 'w'), indent=1)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('cmd', choices=['stats', 'score', 'random'])
    ap.add_argument('files', nargs='+')
    ap.add_argument('--spaces', default='.')
    ap.add_argument('--axis', choices=['time', 'evals', 'both'], default='both')
    ap.add_argument('--boot', type=int, default=300)
    ap.add_argument('-n', type=int, default=100)
    ap.add_argument('--seed', type=int, default=0)
    ap.add_argument('--json')
    ap.add_argument('--by-space', action='store_true')
    ap.add_argument('--faithful', action='store_true')
    a = ap.parse_args()
    if a.cmd == 'stats':
        print(f'{"space":16}{"np":>4}{"cart":>9}{"N":>7}{"valid":>7}{"fail":>6}{"opt ms":>10}{"median":>10}{"<=5%":>6}{"<=1%":>6}{"fe(.95)":>8}{"E":>6}{"cost ms":>9}{"rnd5%":>7}{"rnd1%":>7}')
        for f in a.files:
            s = Space(f)
            p = s.head['params']
            print(f'{s.name:16}{sum(len(v) > 1 for v in p.values()):4d}{math.prod(len(v) for v in p.values()):9d}{s.N:7d}{s.Nv:7d}{s.Ninv:6d}{s.opt:10.4g}{s.med:10.4g}{s.within(.05):6d}{s.within(.01):6d}{s.fe1:8d}{s.E:6d}{s.med_cost:9.0f}{s.rand_expect(.05):7.0f}{s.rand_expect(.01):7.0f}')
    elif a.cmd == 'random':
        rng = np.random.default_rng(a.seed)
        tr = {'random': {}}
        for n in a.files:
            s = Space(find_space(a.spaces, n))
            L = min(s.N, math.ceil(max(1.3 * s.E, 1.3 * s.T1 / s.cost.mean())))
            tr['random'][n] = [(rng.permutation(s.N)[:L].tolist(), 0.0) for _ in range(a.n)]
        report(tr, a.spaces, a)
    else:
        report(read_traces(a.files), a.spaces, a)


if __name__ == '__main__':
    main()
