t=open('/work/wt-warp/crates/python/src/lib.rs').read()
keep={'device_memory','foreign','kernels','objects'}
out=['#![allow(dead_code, unused_imports, missing_docs)]']
for l in t.split('\n'):
    if l.startswith('//!'): continue
    import re
    m=re.match(r'mod (\w+);',l)
    if m:
        if m.group(1) in keep: out.append(f'#[path = "../../python/src/{m.group(1)}.rs"]\n{l}')
        continue
    m=re.search(r'(?:wrap_pyfunction!\(|add_class::<)(\w+)::',l)
    if m and m.group(1) not in keep: continue
    if 'voice::add_to' in l: l='    Ok(())'
    out.append(l)
s='\n'.join(out)
i=s.index('#![allow(\n'); j=s.index(')]',i)
s=s[:i]+s[j+2:]
open('/work/wt-warp/crates/fastnative/src/lib.rs','w').write(s)
