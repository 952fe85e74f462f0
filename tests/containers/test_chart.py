"""The Helm chart: rendered by Helm, and valid for Kubernetes."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from containers.files import SERVICES, service

from docs.project.chart import CHART, ChartError, rendered, value_sets
from docs.project.compose import settings_of

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
NAMES = dict(
    zip(
        ("gateway", "orchestrator", "tools", "knowledge", "connector", "assistants", "migration"),
        SERVICES,
        strict=True,
    )
)
"""Names in the chart, and in the compose file."""
NAMESPACE = "kubernetes.io/metadata.name"
SETS = [None, *value_sets()]


@pytest.fixture(scope="module", params=SETS, ids=lambda each: each.stem if each else "default")
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The objects of the chart with a set of values, checked strictly."""
    return rendered(request.param)


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Return the specifications of a kind by the name of the service."""
    return {
        each["metadata"]["name"].removeprefix("heddle-"): each["spec"]
        for each in objects
        if each["kind"] == kind
    }


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    deployments = of_kind(objects, "Deployment")
    assert deployments.keys() == NAMES.keys()
    return {name: spec["template"]["spec"] for name, spec in deployments.items()}


def variables(pod: dict[str, Any]) -> dict[str, str]:
    (container,) = pod["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def test_there_are_three_sets_of_values() -> None:
    assert len(value_sets()) == 3


def test_pods_have_no_rights_and_write_to_their_volumes_only(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert container["resources"]["requests"]["cpu"]


def test_secrets_are_mounted_files_of_an_existing_secret(objects: list[dict[str, Any]]) -> None:
    assert "Secret" not in {each["kind"] for each in objects}
    for pod in pods(objects).values():
        files = {
            value
            for name, value in variables(pod).items()
            if name.endswith("_FILE") and value.startswith("/run/secrets/heddle/")
        }
        (volume,) = (each["secret"] for each in pod["volumes"] if each["name"] == "secrets")

        assert files == {f"/run/secrets/heddle/{each['path']}" for each in volume["items"]}
        assert files
        assert volume["secretName"] == "heddle"


def test_every_variable_is_a_setting_of_its_service(objects: list[dict[str, Any]]) -> None:
    for name, pod in pods(objects).items():
        own = {*settings_of(NAMES[name]), "HEDDLE_PROVIDERS", "OTEL_EXPORTER_OTLP_ENDPOINT"}
        assert variables(pod).keys() <= own


def test_addresses_ports_and_probes_agree(objects: list[dict[str, Any]]) -> None:
    services = of_kind(objects, "Service")
    all_pods = pods(objects)
    for name, pod in all_pods.items():
        (container,) = pod["containers"]
        port = container["ports"][0]["containerPort"]
        listened = variables(pod)[f"HEDDLE_{name.upper()}_LISTEN"]

        assert service(NAMES[name])["build"]["args"]["HEALTH"].endswith(
            f":{port}/status" if name == "gateway" else f":{port}"
        )
        assert listened == f"0.0.0.0:{port}"
        assert services[name]["ports"][0]["port"] == port
        assert container["startupProbe"].keys() & {"httpGet", "grpc", "exec"}
        assert container["readinessProbe"].keys() & {"httpGet", "grpc", "exec"}
        assert container["livenessProbe"]["tcpSocket"] == {"port": "serving"}
        for variable, value in variables(pod).items():
            if variable.endswith("_ADDRESS"):
                host, _, number = value.partition(":")
                called = host.removeprefix("heddle-")
                assert services[called]["ports"][0]["port"] == int(number)
                assert variable == f"HEDDLE_{called.upper()}_ADDRESS"


def test_pods_end_after_their_calls(objects: list[dict[str, Any]]) -> None:
    for name, pod in pods(objects).items():
        seconds = [
            float(variables(pod)[f"HEDDLE_{name.upper()}_{each}"])
            for each in ("DRAIN_WAIT", "SHUTDOWN_GRACE")
        ]
        assert pod["terminationGracePeriodSeconds"] >= sum(seconds) + 10


def test_replicas_are_disrupted_one_by_one_and_volumes_are_not_shared_by_mistake(
    objects: list[dict[str, Any]],
) -> None:
    budgets = of_kind(objects, "PodDisruptionBudget")
    scalers = of_kind(objects, "HorizontalPodAutoscaler")
    claims = of_kind(objects, "PersistentVolumeClaim")
    for name, deployment in of_kind(objects, "Deployment").items():
        most = scalers[name]["maxReplicas"] if name in scalers else deployment["replicas"]

        assert (name in budgets) == (most > 1)
        assert (name in scalers) == ("replicas" not in deployment)
        if name in claims and most > 1:
            assert claims[name]["accessModes"] == ["ReadWriteMany"]


def test_autoscaling_follows_the_calls_in_flight() -> None:
    scalers = of_kind(rendered(CHART / "ci" / "scaled.yaml"), "HorizontalPodAutoscaler")

    assert scalers.keys() == {
        *("gateway", "orchestrator", "tools", "connector", "assistants", "knowledge")
    }
    for scaler in scalers.values():
        (metric,) = scaler["metrics"]
        assert metric["pods"]["metric"]["name"] == "heddle_calls_in_progress"
        assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "20"}


@pytest.mark.parametrize("values", [CHART / "ci" / "small.yaml", CHART / "ci" / "scaled.yaml"])
def test_services_reach_only_those_that_they_call(values: Path) -> None:
    objects = rendered(values)
    policies = of_kind(objects, "NetworkPolicy")
    calls = {
        name: {
            variable.removeprefix("HEDDLE_").removesuffix("_ADDRESS").lower()
            for variable in variables(pod)
            if variable.endswith("_ADDRESS")
        }
        for name, pod in pods(objects).items()
    }

    for name, policy in policies.items():
        assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
        accepted = policy["ingress"][0]
        callers = components(accepted["from"])
        assert callers == {caller for caller, called in calls.items() if name in called}
        reached = {each for rule in policy["egress"] for each in components(rule.get("to", []))}
        assert reached == calls[name]
        anywhere = any(
            {"ipBlock": {"cidr": "0.0.0.0/0"}} in r.get("to", []) for r in policy["egress"]
        )
        assert anywhere == ("outside" in service(NAMES[name])["networks"])


def test_metrics_and_traces_are_off_unless_they_are_set() -> None:
    for pod in pods(rendered()).values():
        (container,) = pod["containers"]
        assert [each["name"] for each in container["ports"]] == ["serving"]
        assert not variables(pod).keys() & {"HEDDLE_METRICS_LISTEN", "OTEL_EXPORTER_OTLP_ENDPOINT"}


def test_prometheus_finds_and_reads_metrics_and_services_reach_the_collector() -> None:
    objects = rendered(CHART / "ci" / "scaled.yaml")
    monitoring = [{"namespaceSelector": {"matchLabels": {NAMESPACE: "monitoring"}}}]
    annotations = {
        name: spec["template"]["metadata"]["annotations"]
        for name, spec in of_kind(objects, "Deployment").items()
    }
    policies = of_kind(objects, "NetworkPolicy")
    for name, pod in pods(objects).items():
        (container,) = pod["containers"]
        (port,) = (each for each in container["ports"] if each["name"] == "metrics")
        number = port["containerPort"]
        assert variables(pod)["HEDDLE_METRICS_LISTEN"] == f"0.0.0.0:{number}"
        assert annotations[name] == {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(number),
            "prometheus.io/path": "/metrics",
        }
        assert policies[name]["ingress"][1] == {
            "ports": [{"port": "metrics", "protocol": "TCP"}],
            "from": monitoring,
        }
        assert variables(pod)["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector.monitoring:4318"
        assert variables(pod).get("HEDDLE_TRACES_SAMPLE") == ("0.05" if name == "gateway" else None)
        collector = {"ports": [{"port": 4318, "protocol": "TCP"}], "to": monitoring}
        outside = "outside" in service(NAMES[name])["networks"]
        assert (collector in policies[name]["egress"]) == (not outside)


def components(peers: list[dict[str, Any]]) -> set[str]:
    """Return the services of Heddle among the peers of a network policy."""
    labels = (each.get("podSelector", {}).get("matchLabels", {}) for each in peers)
    component = "app.kubernetes.io/component"
    return {each[component] for each in labels if component in each}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("drian: {waitSeconds: 1}", "drian"),
        ("settings: {heddle_providers: cloud}", "heddle_providers"),
        ("image: {tag: latest}", "tag"),
        ("services: {tools: {storage: {accessMode: ReadWriteOnce}}}", "ReadWriteMany"),
        (
            "{services: {knowledge: {storage: {size: 1Gi}}}, autoscaling: {enabled: true}}",
            "ReadWriteMany",
        ),
        ("traces: {endpoint: collector}", "endpoint"),
    ],
)
def test_values_with_a_mistake_are_refused_by_name(tmp_path: Path, values: str, named: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(values)

    with pytest.raises(ChartError, match=named):
        rendered(file)


def test_an_object_that_kubernetes_does_not_know_is_found(tmp_path: Path) -> None:
    chart = tmp_path / "heddle"
    shutil.copytree(CHART, chart)
    template = chart / "templates" / "deployments.yaml"
    template.write_text(template.read_text().replace("readOnlyRootFilesystem", "readOnlyRoot"))

    with pytest.raises(ChartError, match="readOnlyRoot"):
        rendered(chart=chart)
