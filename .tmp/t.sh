rm -rf .heddle/mutants
time PYTHONPATH=tests .venv/bin/python -m mutants --count 12 --seed 3
